//! `engine_pool`: BF engines and who uses them.

use super::context::{Built, Context};
use super::round_robin::{Kind, round_robin};
use crate::rtl::{Expr, ModuleBuilder, index_width};

/// Who is attached to which engine (`docs/blocks/engine_pool.md`).
struct Attachment {
    /// Shared engines.
    shared: u32,
    /// Engines reserved for updates.
    reserved: u32,
    /// Updates may use shared engines.
    sharing: bool,
    sms: u32,
    lanes: u32,
}

impl Attachment {
    fn new(c: &Context) -> Self {
        let (shared, reserved) = (c.config.shared_engines(), c.config.update_engines);
        // A pipelined reserved engine is always ready, so a lane that has one never looks further.
        let sharing = !(c.config.engine_pipelined && reserved >= c.w);
        Self { shared, reserved, sharing, sms: c.n, lanes: c.w }
    }

    /// SMs of shared engine `e`.
    fn sms_of(&self, e: u32) -> Vec<u32> {
        (0..self.sms).filter(|s| s % self.shared == e).collect()
    }

    /// Lanes attached to engine `e` of a class with `engines` engines.
    fn lanes_of(&self, e: u32, engines: u32) -> Vec<u32> {
        if engines >= self.lanes { vec![e % self.lanes] } else { (0..self.lanes).filter(|w| w % engines == e).collect() }
    }

    /// Engines of a class with `engines` engines that lane `w` is attached to.
    fn engines_of(&self, w: u32, engines: u32) -> Vec<u32> {
        (0..engines).filter(|&e| self.lanes_of(e, engines).contains(&w)).collect()
    }

    /// Largest number of users of one kind of any engine.
    fn largest_group(&self) -> u32 {
        self.sms.div_ceil(self.shared).max(self.lanes.div_ceil(self.reserved)).max(if self.sharing {
            self.lanes.div_ceil(self.shared)
        } else {
            1
        })
    }
}

/// The payload that travels with a tag: slot, number of the user within its group, update or miss.
struct Payload {
    slot: u32,
    who: u32,
    sharing: bool,
}

impl Payload {
    fn width(&self) -> u32 {
        self.slot + self.who + u32::from(self.sharing)
    }

    fn pack(&self, slot: Expr, who: Expr, update: Expr) -> Expr {
        let mut fields = vec![slot];
        if self.who > 0 {
            fields.push(who.resize(self.who));
        }
        if self.sharing {
            fields.push(update);
        }
        Expr::concat_lsb_first(fields)
    }

    fn slot(&self, user: &Expr) -> Expr {
        user.bits(0, self.slot)
    }

    /// 1 when the payload is of user number `who`, miss or update.
    fn is(&self, user: &Expr, who: u32, update: bool) -> Option<Expr> {
        let mut terms = Vec::new();
        if self.who > 0 {
            terms.push(user.bits(self.slot, self.who).eq(who));
        }
        if self.sharing {
            let bit = user.bit(self.slot + self.who);
            terms.push(if update { bit } else { !bit });
        }
        (!terms.is_empty()).then(|| Expr::and_all(terms))
    }
}

/// Element chosen by a one-hot grant; the only element needs no gate.
fn choose(grant: &Expr, items: Vec<Expr>) -> Expr {
    if items.len() == 1 {
        items.into_iter().next().unwrap_or_else(|| unreachable!())
    } else {
        grant.onehot_mux(Expr::concat_lsb_first(items))
    }
}

fn join(items: Vec<Expr>) -> Expr {
    Expr::concat_lsb_first(items)
}

pub(super) fn module(c: &Context) -> Built {
    let a = Attachment::new(c);
    let (n, w, engines) = (c.n, c.w, c.config.engines);
    let mut m = c.clocked(
        "engine_pool",
        &format!("{engines} BF engines: {} serve misses first, {} are reserved for updates.", a.shared, a.reserved),
        &format!("result {} cycle(s) after the tag is taken", c.config.engine_latency - 1),
    );
    m.note("ENGINES", engines).note("SHARED_ENGINES", a.shared).note("UPDATE_LANES", w);
    let miss_valid = m.input("miss_valid_i", n, "SM s has a tag to encode");
    let miss_tag = m.input("miss_tag_i", n * c.t, "the tag");
    let miss_slot = m.input("miss_slot_i", n * c.l, "its query slot");
    let update_valid = m.input("update_valid_i", w, "update lane w has a tag to encode");
    let update_tag = m.input("update_tag_i", w * c.t, "the tag");
    let miss_ready_o = m.output("miss_ready_o", n, "an engine takes the tag of SM s");
    let encoded_valid_o = m.output("encoded_valid_o", n, "indices for SM s");
    let encoded_slot_o = m.output("encoded_slot_o", n * c.l, "their query slot");
    let encoded_index_o = m.output("encoded_index_o", n * c.k * c.x, "the indices");
    let update_ready_o = m.output("update_ready_o", w, "an engine takes the tag of lane w");
    let update_encoded_o = m.output("update_encoded_o", w, "indices for lane w");
    let update_index_o = m.output("update_index_o", w * c.k * c.x, "the indices");

    let group = a.largest_group();
    let payload = Payload { slot: c.l, who: if group > 1 { index_width(group) } else { 0 }, sharing: a.sharing };
    let users = payload.width();
    let ready = m.net("ready", engines).doc("engine e takes a tag");

    m.section("Reserved engines: updates only");
    let (mut lane_reserved, reserved_inputs) = reserve(c, &a, &payload, &mut m, &ready, &update_valid, &update_tag);
    m.section("Shared engines: misses first");
    let wants: Option<Expr> = a.sharing.then(|| {
        let reserved = join(lane_reserved.clone());
        m.wire("lane_waits", &update_valid & !reserved).doc("lanes without a reserved engine in this cycle")
    });
    // By engine: the lanes it would take an update of, and whether it may.
    let mut miss_ready: Vec<Option<Expr>> = vec![None; n as usize];
    let mut inputs: Vec<(Expr, Expr, Expr)> = Vec::new();
    let mut lane_shared: Vec<Vec<Expr>> = vec![Vec::new(); w as usize];
    let mut open: Vec<Expr> = Vec::new();
    let mut misses = Vec::new();
    for e in 0..a.shared {
        let sms = a.sms_of(e);
        let requests = join(sms.iter().map(|&s| miss_valid.bit(s)).collect());
        let requests =
            if sms.len() == 1 { requests } else { m.wire(&format!("engine{e}_miss"), requests).doc("SMs that want this engine") };
        let eligible = &requests & ready.bit(e).replicate(requests.width());
        let pick = round_robin(&mut m, &format!("engine{e}"), &eligible, Kind::Free);
        for (j, &s) in sms.iter().enumerate() {
            miss_ready[s as usize] = Some(pick.grant.bit(j as u32));
        }
        open.push(ready.bit(e) & !requests.reduce_or());
        let tag = choose(&pick.grant, sms.iter().map(|&s| miss_tag.elem(s, c.t)).collect());
        let slot = choose(&pick.grant, sms.iter().map(|&s| miss_slot.elem(s, c.l)).collect());
        misses.push((pick.any, tag, slot, pick.index));
    }
    let open = if a.sharing { Some(m.wire("open", join(open)).doc("shared engines free for an update")) } else { None };
    let mut updates: Vec<Option<(Expr, Expr, Expr)>> = vec![None; a.shared as usize];
    if let (Some(wants), Some(open)) = (&wants, &open) {
        if a.shared >= w {
            for lane in 0..w {
                let list = a.engines_of(lane, a.shared);
                let free = join(list.iter().map(|&e| open.bit(e)).collect());
                let take = m.wire(&format!("lane{lane}_shared"), free.lowest_one() & wants.bit(lane).replicate(free.width()));
                let take = take.doc("shared engine that takes the tag of this lane");
                for (j, &e) in list.iter().enumerate() {
                    updates[e as usize] = Some((take.bit(j as u32), update_tag.elem(lane, c.t), Expr::zeros(payload.who.max(1))));
                }
                lane_shared[lane as usize].push(take.reduce_or());
            }
        } else {
            for e in 0..a.shared {
                let list = a.lanes_of(e, a.shared);
                let waiting = join(list.iter().map(|&l| wants.bit(l)).collect());
                let take = m.wire(&format!("engine{e}_lane"), waiting.lowest_one() & open.bit(e).replicate(waiting.width()));
                let take = take.doc("lane whose tag this engine takes");
                let tag = choose(&take, list.iter().map(|&l| update_tag.elem(l, c.t)).collect());
                updates[e as usize] = Some((take.reduce_or(), tag, take.onehot_to_bin()));
                for (j, &l) in list.iter().enumerate() {
                    lane_shared[l as usize].push(take.bit(j as u32));
                }
            }
        }
    }
    for (e, ((any, tag, slot, who), update)) in misses.into_iter().zip(updates).enumerate() {
        let who = who.resize(payload.who.max(1));
        match update {
            None => inputs.push((any, tag, payload.pack(slot, who, Expr::zeros(1)))),
            Some((take, update_tag, update_who)) => {
                let take = m.wire(&format!("engine{e}_update"), take);
                let mine = payload.pack(slot, who, Expr::zeros(1));
                let theirs = payload.pack(Expr::zeros(c.l), update_who.resize(payload.who.max(1)), Expr::ones(1));
                inputs.push((any | &take, take.mux(update_tag, tag), take.mux(theirs, mine)));
            }
        }
    }
    inputs.extend(reserved_inputs);
    m.assign(&miss_ready_o, join(miss_ready.into_iter().map(|r| r.unwrap_or_else(|| unreachable!("every SM has an engine"))).collect()));
    for (w, more) in lane_shared.into_iter().enumerate() {
        for term in more {
            lane_reserved[w] = &lane_reserved[w] | term;
        }
    }
    m.assign(&update_ready_o, join(lane_reserved));

    m.section("Engines");
    let engine = super::bf_engine::module(c, users)?;
    let valid = m.wire("valid", join(inputs.iter().map(|i| i.0.clone()).collect()));
    let tag = m.wire("tag", join(inputs.iter().map(|i| i.1.clone()).collect()));
    let user = m.wire("user", join(inputs.into_iter().map(|i| i.2).collect()));
    let result = m.instance_array("u_engine", &engine, engines, |i, g| {
        i.connect("valid_i", valid.bit(g)).connect("tag_i", tag.elem(g, c.t)).connect("user_i", user.elem(g, users));
        i.connect("ready_o", ready.bit(g));
    });
    let (result_valid, result_index, result_user) = (result.get("valid_o"), result.get("index_o"), result.get("user_o"));
    m.mark_unused(&result_user);
    if c.config.engine_pipelined && !a.sharing {
        m.mark_unused(&ready); // an engine that is always ready is not asked
    }

    m.section("Results");
    let width = c.k * c.x;
    let (mut valids, mut slots, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for s in 0..n {
        let (e, who) = (s % a.shared, s / a.shared);
        let user = result_user.elem(e, users);
        let valid = result_valid.bit(e);
        valids.push(payload.is(&user, who, false).map_or(valid.clone(), |mine| &valid & mine));
        slots.push(payload.slot(&user));
        indices.push(result_index.elem(e, width));
    }
    m.assign(&encoded_valid_o, join(valids));
    m.assign(&encoded_slot_o, join(slots));
    m.assign(&encoded_index_o, join(indices));
    let (mut valids, mut indices) = (Vec::new(), Vec::new());
    for lane in 0..w {
        let mut list: Vec<(u32, u32)> = Vec::new(); // engine, number of the lane in its group
        let place = |e: u32, class: u32| a.lanes_of(e, class).iter().position(|&l| l == lane).unwrap_or_else(|| unreachable!()) as u32;
        list.extend(a.engines_of(lane, a.reserved).into_iter().map(|u| (a.shared + u, place(u, a.reserved))));
        if a.sharing {
            list.extend(a.engines_of(lane, a.shared).into_iter().map(|e| (e, place(e, a.shared))));
        }
        let mine = list.iter().map(|&(e, who)| {
            let valid = result_valid.bit(e);
            payload.is(&result_user.elem(e, users), who, true).map_or(valid.clone(), |mine| &valid & mine)
        });
        let mine = m.wire(&format!("lane{lane}_result"), join(mine.collect())).doc("engine with the result of this lane");
        valids.push(mine.reduce_or());
        indices.push(choose(&mine, list.iter().map(|&(e, _)| result_index.elem(e, width)).collect()));
    }
    m.assign(&update_encoded_o, join(valids));
    m.assign(&update_index_o, join(indices));
    m.finish()
}

/// Rule 1: lanes on reserved engines. Returns for each lane whether it got one, and for each reserved engine its inputs.
fn reserve(
    c: &Context,
    a: &Attachment,
    payload: &Payload,
    m: &mut ModuleBuilder,
    ready: &Expr,
    update_valid: &Expr,
    update_tag: &Expr,
) -> (Vec<Expr>, Vec<(Expr, Expr, Expr)>) {
    let who_width = payload.who.max(1);
    let mut got: Vec<Expr> = vec![Expr::zeros(1); a.lanes as usize];
    let mut inputs: Vec<Option<(Expr, Expr, Expr)>> = vec![None; a.reserved as usize];
    if a.reserved >= a.lanes {
        for lane in 0..a.lanes {
            let list = a.engines_of(lane, a.reserved);
            let free = join(list.iter().map(|&u| ready.bit(a.shared + u)).collect());
            let requests = free & update_valid.bit(lane).replicate(list.len() as u32);
            let pick = round_robin(m, &format!("lane{lane}"), &requests, Kind::Free);
            for (j, &u) in list.iter().enumerate() {
                let user = payload.pack(Expr::zeros(c.l), Expr::zeros(who_width), Expr::ones(1));
                inputs[u as usize] = Some((pick.grant.bit(j as u32), update_tag.elem(lane, c.t), user));
            }
            got[lane as usize] = pick.any;
        }
    } else {
        for u in 0..a.reserved {
            let list = a.lanes_of(u, a.reserved);
            let requests = join(list.iter().map(|&l| update_valid.bit(l)).collect()) & ready.bit(a.shared + u).replicate(list.len() as u32);
            let pick = round_robin(m, &format!("reserved{u}"), &requests, Kind::Free);
            let tag = choose(&pick.grant, list.iter().map(|&l| update_tag.elem(l, c.t)).collect());
            let user = payload.pack(Expr::zeros(c.l), pick.index.resize(who_width), Expr::ones(1));
            inputs[u as usize] = Some((pick.any.clone(), tag, user));
            for (j, &l) in list.iter().enumerate() {
                got[l as usize] = pick.grant.bit(j as u32);
            }
        }
    }
    (got, inputs.into_iter().map(|i| i.unwrap_or_else(|| unreachable!("every reserved engine has a lane"))).collect())
}
