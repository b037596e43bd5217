//! The built-in workloads: form, size, determinism, and the sharing their documentation promises.

use std::collections::{BTreeMap, BTreeSet};

use l1forge_sim::trace::{AccessKind, Coalescer, Event, Space, TraceInfo};
use l1forge_sim::workload::{Workload, WorkloadParameters};

fn events(workload: Workload, parameters: WorkloadParameters) -> Vec<Event> {
    workload.events(parameters).unwrap().collect::<Result<_, _>>().unwrap()
}

fn with(sms: u32, scale: f64, seed: u64) -> WorkloadParameters {
    WorkloadParameters { sms, scale, seed, ..WorkloadParameters::default() }
}

/// For each kernel: the thread blocks that load and the ones that store each line.
type Touched = BTreeMap<u64, [BTreeSet<u64>; 2]>;

fn touched(events: &[Event]) -> Vec<Touched> {
    let coalescer = Coalescer::new(128).unwrap();
    let (mut kernels, mut block, mut lines) = (Vec::new(), 0, Vec::new());
    for event in events {
        match event {
            Event::KernelBegin(_) => kernels.push(Touched::new()),
            Event::BlockBegin { index, .. } => block = *index,
            Event::Access(access) => {
                coalescer.lines(access, &mut lines);
                let way = usize::from(access.kind != AccessKind::Load);
                for touch in &lines {
                    kernels.last_mut().unwrap().entry(touch.line).or_default()[way].insert(block);
                }
            }
            _ => {}
        }
    }
    kernels
}

/// Lines by the number of thread blocks that load and that store them.
fn sharing(kernel: &Touched) -> BTreeMap<(usize, usize), usize> {
    let mut counts = BTreeMap::new();
    for [load, store] in kernel.values() {
        *counts.entry((load.len(), store.len())).or_default() += 1;
    }
    counts
}

#[test]
fn names_find_their_workload() {
    for workload in Workload::ALL {
        assert_eq!(Workload::by_name(workload.name()).unwrap(), workload);
        assert_eq!(workload.to_string(), workload.name());
        assert_eq!(serde_json::to_string(&workload).unwrap(), format!("\"{workload}\""));
    }
    assert_eq!(
        Workload::by_name("gem").unwrap_err().to_string(),
        "workload = gem: legal is one of vector_add, gemm, stencil2d, cyclic_scan, graph_walk, contend, \
         mm2, sgemm, conv2d, conv3d, stencil3d, lps, atax, bicg, mvt, gesummv, bfs, floyd_warshall, pathfinder, btree, spmv, histogram"
    );
}

#[test]
fn illegal_parameters_name_the_key() {
    let error = |p: WorkloadParameters| Workload::Gemm.events(p).err().unwrap().to_string();
    let legal = WorkloadParameters::default;
    assert_eq!(error(WorkloadParameters { sms: 0, ..legal() }), "sms = 0: legal is 1..=1024");
    assert_eq!(error(WorkloadParameters { scale: 0.0, ..legal() }), "scale = 0: legal is 0.01..=1000");
    assert_eq!(error(WorkloadParameters { scale: f64::NAN, ..legal() }), "scale = NaN: legal is 0.01..=1000");
    assert!(error(WorkloadParameters { line_bytes: 96, ..legal() }).starts_with("line_bytes = 96: "));
    assert_eq!(error(WorkloadParameters { base: 64, ..legal() }), "base = 0x40: legal is a multiple of 4096 below 2^62");
}

#[test]
fn events_come_in_order_and_agree_with_themselves() {
    for (workload, parameters) in Workload::ALL.into_iter().flat_map(|w| {
        [with(1, 0.01, 1), with(3, 0.1, 2), WorkloadParameters { line_bytes: 32, base: 0, ..with(5, 0.3, 3) }, with(64, 1.0, 1)]
            .map(|p| (w, p))
    }) {
        let base = parameters.base;
        let mut kernel = None;
        let (mut id, mut blocks, mut instructions, mut warp) = (0, 0, 0, 0);
        for event in events(workload, parameters) {
            match event {
                Event::KernelBegin(new) => {
                    assert!(kernel.is_none());
                    id += 1;
                    assert_eq!(new.id, id);
                    (blocks, kernel) = (0, Some(new));
                }
                Event::BlockBegin { index, coordinates } => {
                    let grid = kernel.as_ref().unwrap().grid;
                    assert_eq!(index, blocks);
                    assert!(coordinates.x < grid.x && coordinates.y < grid.y && coordinates.z < grid.z);
                    let linear = (coordinates.z * grid.y + coordinates.y) * grid.x + coordinates.x;
                    assert_eq!(u64::from(linear), index);
                    (blocks, instructions, warp) = (blocks + 1, 0, 0);
                }
                Event::Access(access) => {
                    assert!(access.warp >= warp && access.warp < kernel.as_ref().unwrap().warps_per_block());
                    warp = access.warp;
                    instructions += 1 + u64::from(access.instructions_before);
                    assert_eq!(access.space, Space::Global);
                    assert!(access.kind != AccessKind::Atomic || !access.shareable);
                    for lane in 0..32 {
                        let address = access.addresses[lane];
                        if access.mask >> lane & 1 == 1 {
                            assert!(address >= base && address < base + (1 << 40), "{workload}: {address:#x}");
                            assert_eq!(address % u64::from(access.width), 0);
                        } else {
                            assert_eq!(address, 0);
                        }
                    }
                }
                Event::BlockEnd { warps, instructions: count } => {
                    assert_eq!(count, instructions);
                    assert_eq!(warps, kernel.as_ref().unwrap().warps_per_block());
                }
                Event::KernelEnd => assert_eq!(kernel.take().unwrap().grid.count(), blocks),
                Event::Memcpy { .. } => panic!("no workload copies"),
            }
        }
        assert!(kernel.is_none() && id > 0);
    }
}

#[test]
fn the_default_size_is_a_few_thousand_line_accesses_for_each_sm() {
    let mut wrong = Vec::new();
    for workload in Workload::ALL {
        let count = |p| {
            let info = TraceInfo::of(workload.events(p).unwrap(), 128).unwrap();
            info.kernels.iter().map(|kernel| kernel.line_accesses).sum::<u64>()
        };
        let whole = count(with(64, 1.0, 1));
        let half = count(with(64, 0.5, 1));
        if !(500..=4096).contains(&(whole / 64)) || half * 10 <= whole * 3 || half * 10 >= whole * 7 {
            wrong.push(format!("{workload}: {} for each SM, {half} of {whole} at half the size", whole / 64));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn same_seed_same_events_other_seed_other_events_where_random() {
    for workload in Workload::ALL {
        let run = |seed| events(workload, with(8, 0.2, seed));
        let random = matches!(
            workload,
            Workload::CyclicScan
                | Workload::GraphWalk
                | Workload::Contend
                | Workload::Bfs
                | Workload::Btree
                | Workload::Spmv
                | Workload::Histogram
        );
        assert!(run(1) == run(1), "{workload}");
        assert_eq!(run(1) != run(2), random, "{workload}");
    }
}

#[test]
fn vector_add_shares_no_line() {
    let kernels = touched(&events(Workload::VectorAdd, with(64, 1.0, 1)));
    // Two arrays loaded, one stored, each line by one of 2048 thread blocks of 8 warps.
    let lines = 2048 * 8;
    assert_eq!(sharing(&kernels[0]), BTreeMap::from([((1, 0), 2 * lines), ((0, 1), lines)]));
}

#[test]
fn gemm_shares_rows_and_columns() {
    let kernels = touched(&events(Workload::Gemm, with(64, 1.0, 1)));
    // 16 x 16 tiles, matrices of 256 x 256 elements, 8 lines a row: A by 16 thread blocks, B by 2 x 16, C by 2.
    let lines = 256 * 8;
    assert_eq!(sharing(&kernels[0]), BTreeMap::from([((16, 0), lines), ((32, 0), lines), ((0, 2), lines)]));
}

#[test]
fn stencil2d_shares_with_neighbours() {
    let kernels = touched(&events(Workload::Stencil2d, with(64, 1.0, 1)));
    assert_eq!(kernels.len(), 2);
    // 23 x 23 thread blocks of 8 rows.
    for kernel in &kernels {
        let counts = sharing(kernel);
        let inner = 21 * 21;
        assert_eq!(counts[&(0, 1)], 23 * 23 * 8, "written by one");
        assert!(counts[&(3, 0)] >= inner * 6 && counts[&(4, 0)] >= inner * 2, "{counts:?}");
        assert_eq!(counts.keys().max(), Some(&(4, 0)));
        let near = |blocks: &BTreeSet<u64>| blocks.last().unwrap() - blocks.first().unwrap() <= 23 + 1;
        assert!(kernel.values().all(|[load, _]| load.is_empty() || near(load)));
    }
    let planes: Vec<BTreeSet<u64>> =
        kernels.iter().map(|kernel| kernel.iter().filter(|(_, [_, store])| !store.is_empty()).map(|(&line, _)| line).collect()).collect();
    assert!(planes[0].is_disjoint(&planes[1]));
    assert!(planes[0].iter().all(|line| !kernels[1][line][0].is_empty()), "the second kernel reads what the first wrote");
}

#[test]
fn cyclic_scan_goes_round_from_spaced_places() {
    let kernels = touched(&events(Workload::CyclicScan, with(16, 1.0, 1)));
    assert_eq!(sharing(&kernels[0]), BTreeMap::from([((16, 0), 1024)]));
    let events = events(Workload::CyclicScan, with(16, 1.0, 1));
    let mut lines: Vec<Vec<(u32, u64)>> = Vec::new();
    for event in &events {
        match event {
            Event::BlockBegin { .. } => lines.push(Vec::new()),
            Event::Access(a) => lines.last_mut().unwrap().push((a.warp, a.addresses[0] / 128 - (0x7f00_0000_0000 >> 7))),
            _ => {}
        }
    }
    let mut starts = BTreeSet::new();
    for accesses in lines {
        let by_warp: Vec<Vec<u64>> =
            (0..4).map(|warp| accesses.iter().filter(|(w, _)| *w == warp).map(|(_, line)| *line).collect()).collect();
        let start = by_warp[0][0];
        starts.insert(start);
        // Warps in turn give twice the whole ring in order.
        let order: Vec<u64> = (0..2048).map(|step| by_warp[step % 4][step / 4]).collect();
        assert_eq!(order, (0..2048).map(|step| (start + step) % 1024).collect::<Vec<_>>());
    }
    assert_eq!(starts, (0..16).map(|worker| worker * 64).collect());
}

#[test]
fn graph_walk_crowds_on_popular_vertices() {
    let events = events(Workload::GraphWalk, with(64, 1.0, 1));
    let kernels = touched(&events);
    let sharers: Vec<usize> = kernels[0].values().map(|[load, store]| load.union(store).count()).collect();
    assert!(sharers.iter().all(|&count| count > 1));
    assert_eq!(sharers.iter().max(), Some(&128), "some line is touched by every thread block");
    assert!(kernels[0].values().any(|[load, store]| load.len() > 1 && store.len() > 1));
    // Divergent: about 30 lines for each load of an edge.
    let info = TraceInfo::of(events.into_iter().map(Ok), 128).unwrap();
    let kernel = &info.kernels[0];
    assert!(kernel.line_accesses > 20 * (kernel.loads + kernel.stores));
}

#[test]
fn contend_is_same_own_and_mixed() {
    let events = events(Workload::Contend, with(64, 1.0, 1));
    let kernels = touched(&events);
    assert_eq!(sharing(&kernels[0]), BTreeMap::from([((64, 0), 512)]));
    assert_eq!(sharing(&kernels[1]), BTreeMap::from([((1, 0), 64 * 512)]));
    assert_eq!(kernels[2].len(), 64);
    assert!(kernels[2].values().all(|[load, store]| load.len() > 10 && store.len() > 10));
    // Groups of 16 lines of one SM agree in their low 10 bits.
    let mut groups: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    for (line, [load, _]) in &kernels[1] {
        *groups.entry((line % 1024, *load.first().unwrap())).or_default() += 1;
    }
    assert!(groups.values().all(|&count| count == 16), "{groups:?}");
    let info = TraceInfo::of(events.into_iter().map(Ok), 128).unwrap();
    let mixed = &info.kernels[2];
    assert!(mixed.loads > mixed.stores && mixed.stores > mixed.atomics && mixed.atomics > 3000);
    assert!(mixed.unshareable_loads > 3000);
}

/// FNV-1a, number by number, of everything the accesses say.
fn checksum(workload: Workload) -> u64 {
    let mut numbers = Vec::new();
    for event in events(workload, with(8, 0.2, 1)) {
        match event {
            Event::BlockBegin { index, .. } => numbers.push(index),
            Event::Access(a) => {
                numbers.extend([a.warp, a.mask, a.instructions_before].map(u64::from));
                numbers.extend([a.pc, a.kind as u64, u64::from(a.shareable), a.width.into()]);
                numbers.extend(a.addresses);
            }
            _ => {}
        }
    }
    numbers.iter().fold(0xcbf2_9ce4_8422_2325, |hash, number| (hash ^ number).wrapping_mul(0x100_0000_01b3))
}

/// Results of runs with a seed are quoted; the events behind them must not change by accident, not even when the random
/// number generator is updated. Change the numbers only on purpose, and say so in the release notes.
#[test]
fn events_are_frozen() {
    let sums: Vec<String> = Workload::ALL.map(|w| format!("{w} {:016x}", checksum(w))).into();
    assert_eq!(
        sums,
        [
            "vector_add 50e5f00bd4f03878",
            "gemm c0203ad9d94ea7b7",
            "stencil2d b0a47417c2fa4545",
            "cyclic_scan 7ab671ad871a95ed",
            "graph_walk c8b0fc43d4bac107",
            "contend 41fa28f40c7b1022",
            "mm2 069fc193a27cb9dd",
            "sgemm 3fbcfc1a20b6a275",
            "conv2d 4d69431266d48db5",
            "conv3d 45b089a3fb4ed19e",
            "stencil3d f71ea09f747c0e1e",
            "lps 043fe1ebd7a0247f",
            "atax 1ea70637dd47fa95",
            "bicg 71080de967dbb295",
            "mvt 37d3718861dc10c5",
            "gesummv 707a9cca67ecf6c5",
            "bfs c9661a5ed93b81fb",
            "floyd_warshall 45908c168810c5a5",
            "pathfinder de7112ec2c8c074e",
            "btree 3d3ee41caffd92df",
            "spmv e4fc8471fea0a952",
            "histogram a9bb5f29223b00ac",
        ]
    );
}
