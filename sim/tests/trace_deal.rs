//! Dealing thread blocks to SMs.

mod common;

use std::collections::{BTreeMap, VecDeque};

use l1forge_sim::trace::{
    AccessKind, Coalescer, DealParameters, Dealer, DealtAccess, Event, Events, Space, TraceError, TraceOptions, TraceReader,
};
use l1forge_sim::workload::{Workload, WorkloadParameters};
use proptest::prelude::*;

type Results = std::vec::IntoIter<Result<Event, TraceError>>;

fn results(events: &[Event]) -> Results {
    events.iter().cloned().map(Ok).collect::<Vec<_>>().into_iter()
}

fn workload(workload: Workload, sms: u32, scale: f64) -> Vec<Event> {
    let parameters = WorkloadParameters { sms, scale, ..WorkloadParameters::default() };
    workload.events(parameters).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Per kernel, the global accesses of every warp of every block, without any dealing.
fn by_warp(events: &[Event], line_bytes: u32) -> Vec<BTreeMap<(u64, u32), VecDeque<DealtAccess>>> {
    let coalescer = Coalescer::new(line_bytes).unwrap();
    let (mut kernels, mut block, mut before) = (Vec::new(), 0, BTreeMap::new());
    for event in events {
        match event {
            Event::KernelBegin(_) => kernels.push(BTreeMap::<_, VecDeque<_>>::new()),
            Event::BlockBegin { index, .. } => {
                block = *index;
                before.clear();
            }
            Event::Access(a) if a.space == Space::Global => {
                let mut lines = Vec::new();
                coalescer.lines(a, &mut lines);
                kernels.last_mut().unwrap().entry((block, a.warp)).or_default().push_back(DealtAccess {
                    block,
                    warp: a.warp,
                    pc: a.pc,
                    kind: a.kind,
                    shareable: a.shareable,
                    instructions_before: a.instructions_before + before.remove(&a.warp).unwrap_or(0),
                    lines,
                });
            }
            Event::Access(a) => *before.entry(a.warp).or_default() += a.instructions_before + 1,
            _ => {}
        }
    }
    kernels
}

/// Takes everything, in an order given by `picks`, and checks each access against `expected`.
fn drain(
    dealer: &mut Dealer<Results>,
    sms: u32,
    mut expected: BTreeMap<(u64, u32), VecDeque<DealtAccess>>,
    picks: &mut impl Iterator<Item = usize>,
) {
    let slots = dealer.slots();
    while !dealer.kernel_done() {
        let full: Vec<_> =
            (0..sms).flat_map(|sm| (0..slots).map(move |slot| (sm, slot))).filter(|&(sm, slot)| dealer.has_access(sm, slot)).collect();
        assert!(!full.is_empty(), "nothing to take, but the kernel is not done");
        let (sm, slot) = full[picks.next().unwrap() % full.len()];
        let peeked = dealer.peek(sm, slot);
        let taken = dealer.take(sm, slot).unwrap().unwrap();
        assert_eq!(peeked.as_ref(), Some(&taken));
        assert_eq!(u64::from(sm), taken.block % u64::from(sms), "dealt to the wrong SM");
        let key = (taken.block, taken.warp);
        assert_eq!(expected.get_mut(&key).and_then(VecDeque::pop_front), Some(taken));
    }
    assert!(expected.values().all(VecDeque::is_empty), "accesses were lost");
    for (sm, slot) in (0..sms + 1).flat_map(|sm| (0..slots + 1).map(move |slot| (sm, slot))) {
        assert!(dealer.take(sm, slot).unwrap().is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_access_reaches_its_sm_once_and_in_the_order_of_its_warp(
        which in prop::sample::select(Workload::ALL.to_vec()),
        sms in 1u32..6,
        resident in 1u32..4,
        waiting in 0u32..6,
        budget in prop::sample::select(vec![1usize, 500, 5_000, 32 << 20]),
        picks in prop::collection::vec(any::<usize>(), 100),
    ) {
        let events = workload(which, 3, 0.05);
        let parameters = DealParameters { sms, resident, waiting, line_bytes: 128, budget };
        let mut dealer = Dealer::new(results(&events), parameters).unwrap();
        let mut picks = picks.iter().copied().cycle();
        for expected in by_warp(&events, 128) {
            prop_assert!(dealer.next_kernel().unwrap().is_some());
            drain(&mut dealer, sms, expected, &mut picks);
        }
        prop_assert!(dealer.next_kernel().unwrap().is_none());
        let instructions: u64 = events.iter().map(|event| match event {
            Event::BlockEnd { instructions, .. } => *instructions,
            _ => 0,
        }).sum();
        prop_assert_eq!(dealer.instructions(), instructions);
    }
}

#[test]
fn reading_stops_when_the_window_is_full() {
    // 32 thread blocks of 8 warps for each of 2 SMs.
    let events = workload(Workload::VectorAdd, 2, 1.0);
    for (resident, waiting) in [(1, 0), (4, 0), (2, 3)] {
        let parameters = DealParameters { sms: 2, resident, waiting, ..DealParameters::default() };
        let mut dealer = Dealer::new(results(&events), parameters).unwrap();
        dealer.next_kernel().unwrap();
        assert_eq!(dealer.slots(), resident * 8);
        let most = (2 * resident + waiting) as usize;
        assert_eq!(dealer.held().0, most);
        while dealer.take_any(0).unwrap().is_some() {
            assert!(dealer.held().0 <= most);
        }
        // SM 0 ran dry: the rest waits behind a thread block for SM 1.
        assert!(!dealer.kernel_done());
        assert_eq!(dealer.held().0, most.min(resident as usize + waiting as usize));
        assert!(dealer.take_any(1).unwrap().is_some());
    }
}

#[test]
fn a_small_budget_holds_one_block_and_says_so() {
    let events = workload(Workload::VectorAdd, 2, 1.0);
    let parameters = DealParameters { sms: 2, budget: 1, ..DealParameters::default() };
    let mut dealer = Dealer::new(results(&events), parameters).unwrap();
    dealer.next_kernel().unwrap();
    assert_eq!(dealer.held().0, 1);
    assert!(dealer.starved() > 0);
    let mut dealer = Dealer::new(results(&events), DealParameters { sms: 2, ..DealParameters::default() }).unwrap();
    dealer.next_kernel().unwrap();
    assert_eq!(dealer.starved(), 0);
}

#[test]
fn take_any_serves_the_warps_in_turn() {
    let events = workload(Workload::VectorAdd, 1, 0.1);
    let mut dealer = Dealer::new(results(&events), DealParameters { sms: 1, ..DealParameters::default() }).unwrap();
    dealer.next_kernel().unwrap();
    let slots: Vec<u32> = (0..64).map(|_| dealer.take_any(0).unwrap().unwrap().0).collect();
    // 24 slots (3 thread blocks of 8 warps), 3 accesses each.
    let turn: Vec<u32> = (0..24).cycle().take(64).collect();
    assert_eq!(slots, turn);
}

#[test]
fn the_rest_of_a_kernel_can_be_skipped() {
    let events = workload(Workload::Contend, 2, 0.1);
    let mut dealer = Dealer::new(results(&events), DealParameters { sms: 2, ..DealParameters::default() }).unwrap();
    let mut names = Vec::new();
    while let Some(kernel) = dealer.next_kernel().unwrap() {
        assert_eq!(dealer.take_any(0).unwrap().unwrap().1.block, 0);
        names.push(kernel.name.clone());
    }
    assert_eq!(names, ["contend_same", "contend_own", "contend_mixed"]);
}

#[test]
fn only_global_accesses_count_and_the_others_become_instructions() {
    let text = common::with_instructions(
        3,
        &[
            "0000 ffffffff 1 R1 MOV 0 0",
            "0010 00000001 1 R1 LDS 1 R2 4 2 0x10",
            "0020 00000001 1 R1 LDL 1 R2 4 2 0x10",
            "0030 00000001 1 R1 LDG.E.STRONG.GPU 1 R2 4 2 0x7f0000000080",
            "0040 00000001 0 RED.E.ADD 2 R2 R3 4 2 0x7f0000000080",
        ],
    );
    let options = TraceOptions { partial: true, ..TraceOptions::default() };
    let events = TraceReader::from_reader(std::io::Cursor::new(text), "t", options).unwrap();
    let mut dealer = Dealer::new(events, DealParameters::default()).unwrap();
    dealer.next_kernel().unwrap();
    let first = dealer.take(0, 1).unwrap().unwrap();
    assert_eq!((first.pc, first.kind, first.shareable), (0x30, AccessKind::Load, false));
    assert_eq!((first.instructions_before, first.lines[0].line), (3, 0x7f_0000_0000 >> 7 << 8 | 1));
    let second = dealer.take(0, 1).unwrap().unwrap();
    assert_eq!((second.kind, second.shareable, second.instructions_before), (AccessKind::Atomic, false, 0));
    assert!(dealer.kernel_done());
}

#[test]
fn a_broken_trace_is_reported_where_reading_meets_it() {
    let text = common::sample(5).replace("#END_TB\n\n#BEGIN_TB", "#END_TB\n\n#BEGIN_TC");
    let events = TraceReader::from_reader(std::io::Cursor::new(text), "t", TraceOptions::default()).unwrap();
    let mut dealer = Dealer::new(events, DealParameters::default()).unwrap();
    assert_eq!(dealer.next_kernel().unwrap_err().to_string(), "t:30: found `thread block = 1,0,0`, expected `#BEGIN_TB`");
}

#[test]
fn traces_and_workloads_go_into_one_dealer() {
    let workload = Workload::VectorAdd.events(WorkloadParameters { sms: 1, ..WorkloadParameters::default() });
    let trace = TraceReader::from_reader(std::io::Cursor::new(common::sample(5)), "t", TraceOptions::default());
    let either: [Events; 2] = [Box::new(workload.unwrap()), Box::new(trace.unwrap())];
    for events in either {
        let mut dealer = Dealer::new(events, DealParameters::default()).unwrap();
        assert!(dealer.next_kernel().unwrap().is_some());
        assert!(dealer.take_any(0).unwrap().is_some());
    }
}

#[test]
fn illegal_parameters_name_the_key() {
    let error = |parameters| Dealer::new(results(&[]), parameters).err().unwrap().to_string();
    let parameters = DealParameters::default();
    assert_eq!(error(DealParameters { sms: 0, ..parameters.clone() }), "sms = 0: legal is 1..=1024");
    assert_eq!(error(DealParameters { resident: 33, ..parameters.clone() }), "resident = 33: legal is 1..=32");
    assert_eq!(error(DealParameters { line_bytes: 100, ..parameters }), "line_bytes = 100: legal is a power of two in 32..=1024");
}
