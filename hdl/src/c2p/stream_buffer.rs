//! `stream_buffer`: one beat of rebuild tags.

use super::context::{Built, Context};

pub(super) fn module(c: &Context) -> Built {
    let st = c.st;
    let mut m = c.clocked(
        "stream_buffer",
        &format!("One beat of {st} tags of the SM under rebuild. Beats of any other SM, or outside a rebuild, are taken and thrown away."),
        "tags are offered in the cycle after their beat",
    );
    m.note("STREAM_TAGS", st).note("TAG_BITS", c.t);
    let stream_valid = m.input("stream_valid_i", 1, "a beat of tags");
    let stream_sm = m.input("stream_sm_i", c.s, "SM it comes from");
    let stream_tag = m.input("stream_tag_i", st * c.t, "the tags");
    let stream_keep = m.input("stream_keep_i", st, "which of them are there");
    let stream_last = m.input("stream_last_i", 1, "last beat of the rebuild");
    let streaming = m.input("streaming_i", 1, "a rebuild takes tags");
    let sm = m.input("sm_i", c.s, "SM under rebuild");
    let tag_ready = m.input("tag_ready_i", st, "tag l is taken");
    let flush = m.input("flush_i", 1, "empty the buffer");
    let stream_ready_o = m.output("stream_ready_o", 1, "the beat is taken");
    let tag_valid_o = m.output("tag_valid_o", st, "tag l is offered");
    let tag_o = m.output("tag_o", st * c.t, "the tags");
    let empty_o = m.output("empty_o", 1, "no tag waits");
    let beat_o = m.output("beat_o", 1, "a beat of the SM under rebuild is taken");
    let last_o = m.output("last_o", 1, "and it is the last");

    let valid = m.reg("valid_q", st).doc("tags that wait");
    let tags = m.reg("tag_q", st * c.t).no_reset().doc("the tags");
    let left = m.wire("left", &*valid & !&tag_ready).doc("tags that wait after this cycle");
    let ready = m.wire("ready", left.is_zero());
    let take = m.wire("take", &stream_valid & &ready);
    let mine = m.wire("mine", &take & stream_sm.eq(&sm));
    let load = m.wire("load", &mine & &streaming);
    valid.next_when(&flush, 0u32);
    valid.next_when(&load, &stream_keep);
    valid.next(&left);
    tags.next_when(&load, &stream_tag);
    m.assign(&stream_ready_o, &ready);
    m.assign(&tag_valid_o, &*valid);
    m.assign(&tag_o, &*tags);
    m.assign(&empty_o, valid.is_zero());
    m.assign(&beat_o, &mine);
    m.assign(&last_o, &mine & &stream_last);
    m.finish()
}
