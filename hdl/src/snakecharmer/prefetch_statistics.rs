//! `prefetch_statistics`: counters.

use super::context::{Built, Context};
use crate::rtl::value_width;
use l1forge_config::Config;

/// The counters in port order: name, largest number of events in a cycle, what they count.
pub fn counters(config: &Config) -> Vec<(&'static str, u32, &'static str)> {
    let s = config.sc_sectors();
    let table = config.sc_prt_entries * s;
    vec![
        ("issued", s, "sectors issued"),
        ("on_time", 2 * s, "sectors used on time"),
        ("early", s, "sectors demanded after they had left"),
        ("late", s, "sectors demanded while outstanding"),
        ("unused", 3 * s, "sectors that left the PEB unread"),
        ("invalidated", table + s, "sectors lost to stores and flush"),
        ("registered", s, "sectors written to registers"),
        ("register_used", s, "of on_time, those in the PRT"),
        ("register_invalidated", table, "of invalidated, those in the PRT"),
        ("dropped", s, "unread sectors that left the PRT"),
        ("evicted", s, "unused sectors that left the L1"),
        ("candidates", 1, "candidates taken"),
        ("suppressed", 1, "of these, stopped by the zero filter"),
        ("rejected", 1, "of these, refused by the SGU"),
        ("duplicates", 1, "of these, known to the prefetch queue"),
        ("redundant", 1, "prefetches without a sector to issue"),
        ("bypassed", 1, "prefetches issued into the L1"),
        ("lost_triggers", 1, "loads that found the trigger queue full"),
        ("lost_events", 3, "feedback events lost"),
    ]
}

pub(super) fn module(c: &Context) -> Built {
    let width = c.config.counter_bits;
    let mut m = c.clocked("prefetch_statistics", "Counters; each adds its input and wraps.", "an event shows in the next cycle");
    m.note("COUNTER_BITS", width);
    let clear = m.input("clear_i", 1, "set every counter to 0");
    for (name, most, text) in counters(c.config) {
        let events = m.input(&format!("{name}_i"), value_width(u64::from(most)), text);
        let port = m.output(&format!("count_{name}_o"), width, text);
        let count = m.reg(&format!("{name}_q"), width).doc(text);
        let sum = &count + if events.width() > width { events.trunc(width) } else { events.zext(width) };
        if events.width() > width {
            m.mark_unused(events.bits(width, events.width() - width));
        }
        count.next_when(&clear, 0u32);
        count.next(sum);
        m.assign(&port, &count);
    }
    m.finish()
}
