//! What the memory path does at the ports of the C2P-Cache, cycle by cycle, against what the L1s say.

use l1forge_config::Settings;
use l1forge_sim::block::{Block, Port, Signals};
use l1forge_sim::c2p::{C2pCache, Inputs, Outputs};
use l1forge_sim::system::scheme::C2p;
use l1forge_sim::system::{L1s, Measures, Miss, NoPrefetch, Prefetcher, Scheme, Sharing, SystemParameters, run, run_with};
use l1forge_sim::workload::{Workload, WorkloadParameters};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Inputs and outputs of the latest cycle.
type Seen = Rc<RefCell<(Inputs, Outputs)>>;

/// The model, whose ports are noted.
struct Noted(C2pCache, Seen);

impl Block for Noted {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn inputs(&self) -> Vec<Port> {
        self.0.inputs()
    }

    fn outputs(&self) -> Vec<Port> {
        self.0.outputs()
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        self.0.eval(inputs, outputs);
    }

    fn clock(&mut self, inputs: &Signals) {
        let mut outputs = Signals::new(&self.0.outputs());
        self.0.eval(inputs, &mut outputs);
        let (i, o) = &mut *self.1.borrow_mut();
        i.read(inputs);
        o.read(&outputs);
        self.0.clock(inputs);
    }
}

/// The scheme, and what is expected of it.
struct Watch {
    scheme: C2p,
    seen: Seen,
    tag_latency: u64,
    probe_wait: u32,
    /// Per SM: cycle of the answer, tag.
    probes: Vec<VecDeque<(u64, u64)>>,
    /// Per SM: cycles that its probe has waited.
    waits: Vec<u32>,
    /// Per SM: the notice that is not taken yet.
    notice: Vec<Option<u64>>,
    /// Rebuilds: SM, tags left.
    streams: VecDeque<(usize, Vec<u64>)>,
    taken: BTreeMap<(usize, u64), Miss>,
    flushed: bool,
    /// How often each happened: an answer of each kind, a probe held up, the L2 path full, a beat, a miss pruned, retained, a flush.
    counts: Rc<RefCell<BTreeMap<&'static str, u64>>>,
}

impl Watch {
    fn check(&mut self, now: u64, shown: &[Option<Miss>], l2_room: &[bool], ports: &[bool], l1s: &L1s) {
        let seen = self.seen.clone();
        let (i, o) = &*seen.borrow();
        let count = |what| *self.counts.borrow_mut().entry(what).or_default() += 1;
        assert_eq!(i.flush, std::mem::take(&mut self.flushed), "cycle {now}");
        for (sm, &room) in l2_room.iter().enumerate() {
            let what = format!("cycle {now}, SM {sm}");
            let miss = i.miss_valid.contains(sm).then(|| (i.miss_tag[sm], i.miss_id[sm], i.miss_shareable.contains(sm)));
            assert_eq!(miss, shown[sm].map(|miss| (miss.line, miss.id.into(), miss.shareable)), "{what}");
            assert_eq!((i.l2_ready.contains(sm), i.probe_ready.contains(sm)), (room, ports[sm]), "{what}");
            if let (true, Some(miss)) = (o.miss_ready.contains(sm), shown[sm]) {
                self.taken.insert((sm, miss.id.into()), miss);
            }
            let due = self.probes[sm].pop_front_if(|probe| probe.0 <= now);
            let answer = i.answer_valid.contains(sm).then(|| i.answer_hit.contains(sm));
            assert_eq!(answer, due.map(|probe| l1s.holds(sm, probe.1)), "{what}");
            let held_up = o.probe_valid.contains(sm) && !ports[sm];
            self.waits[sm] = if held_up { self.waits[sm] + 1 } else { 0 };
            if o.probe_valid.contains(sm) && ports[sm] {
                self.probes[sm].push_back((now + self.tag_latency, o.probe[sm].tag));
                assert!(!l1s.port_free(sm), "{what}: a probe takes the port");
            }
            let notice = i.fill_valid.contains(sm).then(|| i.fill_tag[sm]);
            assert!(self.notice[sm].is_none() || self.notice[sm] == notice, "{what}: a notice stays until it is taken");
            assert!(!i.flush || notice.is_none(), "{what}: notices of a kernel end with it");
            self.notice[sm] = notice.filter(|_| !o.fill_ready.contains(sm));
            self.notice[sm].iter().for_each(|_| count("waiting notices"));
            if o.outcome_valid.contains(sm) {
                let miss = self.taken.remove(&(sm, o.outcome[sm].id)).expect("an outcome is that of a miss");
                // No candidate, or none looked for.
                let pruned = !o.outcome[sm].remote && matches!(o.outcome[sm].reason, 1 | 5);
                count(if !miss.shareable {
                    "unshareable"
                } else if pruned {
                    "pruned"
                } else {
                    "retained"
                });
            }
            answer.into_iter().for_each(|hit| count(if hit { "hits" } else { "misses" }));
            [("held up", held_up), ("no room", !room)].into_iter().filter(|c| c.1).for_each(|c| count(c.0));
            let streaming = self.streams.iter().any(|stream| stream.0 == sm);
            assert_eq!(i.refresh_ready.contains(sm), !streaming, "{what}");
        }
        let front =
            self.streams.front().map(|(sm, tags)| (*sm, &tags[..tags.len().min(i.stream_tag.len())], tags.len() <= i.stream_tag.len()));
        let beat = i.stream.map(|beat| (beat.sm, &i.stream_tag[..beat.keep.trailing_ones() as usize], beat.last));
        assert_eq!(beat, front, "cycle {now}");
        if beat.is_some() && o.stream_ready {
            count("beats");
            let (sm, mut tags) = self.streams.pop_front().unwrap();
            if tags.len() > i.stream_tag.len() {
                tags.drain(..i.stream_tag.len());
                self.streams.push_front((sm, tags));
            }
        }
        for sm in (o.refresh_valid & i.refresh_ready).iter() {
            self.streams.push_back((sm, l1s.valid_tags(sm).collect()));
        }
    }
}

impl Sharing for Watch {
    fn name(&self) -> &'static str {
        self.scheme.name()
    }

    fn admit(&mut self, sm: usize) -> bool {
        let admitted = self.scheme.admit(sm);
        assert_eq!(admitted, self.waits[sm] < self.probe_wait, "SM {sm}");
        admitted
    }

    fn step(&mut self, now: u64, l1s: &mut L1s) {
        let sms = 0..l1s.count();
        let shown: Vec<_> = sms.clone().map(|sm| l1s.peek_miss(sm)).collect();
        let room: Vec<_> = sms.clone().map(|sm| l1s.l2_room(sm)).collect();
        let ports: Vec<_> = sms.map(|sm| l1s.port_free(sm)).collect();
        self.scheme.step(now, l1s);
        self.check(now, &shown, &room, &ports, l1s);
    }

    fn next(&self, now: u64) -> Option<u64> {
        self.scheme.next(now)
    }

    fn flush(&mut self) {
        self.scheme.flush();
        self.flushed = true;
        self.notice.fill(None);
        *self.counts.borrow_mut().entry("flushes").or_default() += 1;
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.scheme.counters()
    }

    fn check(&self, m: &Measures) -> Result<(), String> {
        self.scheme.check(m)
    }
}

#[test]
fn the_ports_are_driven_by_what_the_l1s_say() {
    let mut s = Settings::default();
    for set in ["sms=4", "l1_bytes=8192", "refresh_period=300", "update_bytes=32"] {
        s.set(set).unwrap();
    }
    // Notices that are dropped never wait; those that wait come in order.
    let mut waiting = s.clone();
    ["fill_drop=false", "fill_queue_depth=1", "update_lanes=1", "update_engines=1", "engines=5"]
        .iter()
        .for_each(|set| waiting.set(set).unwrap());
    let p = SystemParameters { probe_wait: 2, request_queue: 1, ..SystemParameters::default() };
    let counts = Rc::new(RefCell::new(BTreeMap::new()));
    let runs = [
        (&s, Workload::CyclicScan),
        (&s, Workload::Bfs),
        (&s, Workload::Histogram),
        (&waiting, Workload::Bfs),
        (&waiting, Workload::FloydWarshall),
    ];
    for (settings, workload) in runs {
        let c = settings.resolve().unwrap();
        let seen = Rc::new(RefCell::new((Inputs::new(&c), Outputs::new(&c))));
        let scheme = C2p::with_block(&c, &p, Box::new(Noted(C2pCache::new(&c), seen.clone())));
        let before: BTreeMap<&str, u64> = counts.borrow().clone();
        let watch = Watch {
            scheme,
            seen,
            tag_latency: c.remote_tag_latency.into(),
            probe_wait: p.probe_wait,
            probes: vec![VecDeque::new(); 4],
            waits: vec![0; 4],
            notice: vec![None; 4],
            streams: VecDeque::new(),
            taken: BTreeMap::new(),
            flushed: false,
            counts: counts.clone(),
        };
        let events = workload.events(WorkloadParameters { sms: 4, scale: 0.2, seed: 1, ..WorkloadParameters::default() }).unwrap();
        let prefetchers = (0..4).map(|_| Box::new(NoPrefetch) as Box<dyn Prefetcher>).collect();
        let candidates = run_with(Box::new(events), &c, &p, Box::new(watch), prefetchers, |_| {}).unwrap().measures.candidates;
        let counted = |what| counts.borrow().get(what).copied().unwrap_or(0) - before.get(what).copied().unwrap_or(0);
        assert_eq!(candidates.tp + candidates.fp, counted("retained"), "{workload}");
        assert_eq!((candidates.fn_ + candidates.tn, candidates.unshareable), (counted("pruned"), counted("unshareable")), "{workload}");
    }
    let counts = counts.borrow();
    for what in ["hits", "misses", "held up", "no room", "beats", "pruned", "retained", "flushes", "waiting notices"] {
        assert!(counts.get(what).is_some_and(|count| *count > 0), "{what}: {counts:?}");
    }
}

#[test]
fn lines_of_other_l1s_are_notified_where_that_is_asked_for() {
    let mut s = Settings::default();
    ["sms=4", "l1_bytes=8192"].iter().for_each(|set| s.set(set).unwrap());
    let c = s.resolve().unwrap();
    for notify_remote_fills in [false, true] {
        let p = SystemParameters { notify_remote_fills, ..SystemParameters::default() };
        let events =
            Workload::CyclicScan.events(WorkloadParameters { sms: 4, scale: 0.2, seed: 1, ..WorkloadParameters::default() }).unwrap();
        let t = run(Box::new(events), &c, &p, Scheme::C2p, |_| {}).unwrap();
        let notices = t.scheme_counters.iter().find(|counter| counter.0 == "notices").unwrap().1;
        let remote = if notify_remote_fills { t.measures.remote_hits } else { 0 };
        assert!(t.measures.remote_hits > 0);
        assert_eq!(notices, t.measures.l2_loads + remote, "{notify_remote_fills}");
    }
}
