//! Real traces, when `L1FORGE_DATA` names the folder that holds them.

mod common;

use std::path::Path;

use common::real_trace;
use l1forge_sim::trace::{Compression, TraceInfo, TraceOptions, TraceReader};

fn info(path: &Path) -> TraceInfo {
    let reader = TraceReader::open(path, TraceOptions::default()).unwrap();
    TraceInfo::of(reader, 128).unwrap()
}

#[test]
fn bfs_shares_half_of_its_lines() {
    let Some(folder) = real_trace("bfs") else {
        return;
    };
    let info = info(&folder);
    assert_eq!((info.memcpys, info.memcpy_bytes), (5, 32768 + 98304 + 4096 + 1 + 1));
    assert_eq!(info.kernels.iter().map(|k| k.kernel.id).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    for kernel in &info.kernels {
        assert_eq!((kernel.thread_blocks, kernel.warps), (8, 128), "{}", kernel.kernel.id);
        assert_eq!((kernel.kernel.tracer_version, kernel.kernel.compression), (3, Compression::None));
    }
    let fifth = &info.kernels[4];
    assert_eq!(fifth.kernel.name, "_Z6KernelP4NodePiPbS2_S2_S1_i");
    assert_eq!((fifth.lines, fifth.shared_lines), (348, 171));
    // Counted in the text with grep and awk, over all six kernels.
    let sum = |count: fn(&l1forge_sim::trace::KernelInfo) -> u64| info.kernels.iter().map(count).sum::<u64>();
    assert_eq!((sum(|k| k.loads), sum(|k| k.stores), sum(|k| k.atomics)), (3088, 1664, 0));
}

#[test]
fn vectoradd_shares_nothing() {
    let Some(folder) = real_trace("vectoradd") else {
        return;
    };
    let info = info(&folder);
    let [kernel] = info.kernels.as_slice() else { panic!("{} kernels", info.kernels.len()) };
    assert_eq!((kernel.kernel.tracer_version, kernel.kernel.compression), (5, Compression::Xz));
    assert_eq!((kernel.thread_blocks, kernel.shared_lines), (196, 0));
    // 50,000 elements, three arrays, 4 bytes each.
    assert_eq!(kernel.bytes, 3 * 50_000 * 4);
    assert_eq!(kernel.lines, 3 * (50_000u64 * 4).div_ceil(128));
}

#[test]
fn folder_list_and_single_file_give_the_same() {
    let Some(folder) = real_trace("bfs") else {
        return;
    };
    let list = info(&folder.join("kernelslist.g"));
    assert_eq!(info(&folder), list);
    let single = info(&folder.join("kernel-5.traceg"));
    assert_eq!(single.kernels, list.kernels[4..5]);
    assert_eq!(single.memcpys, 0);
}
