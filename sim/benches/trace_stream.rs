//! Streams a synthetic trace of 1 GiB (or `L1FORGE_BENCH_MB` MiB), made on the fly, and prints MB/s (by processor time)
//! and the peak memory of the process. Fails when the peak exceeds 64 MiB.
//!
//! `cargo bench -p l1forge-sim --bench trace_stream`

use std::fmt::Write as _;
use std::io::{Cursor, Read};
use std::time::Instant;

use l1forge_sim::trace::{DealParameters, Dealer, Event, TraceError, TraceOptions, TraceReader};

const SMS: u32 = 64;
/// Thread blocks with different addresses; after these the text repeats.
const BODIES: u64 = 64;
/// Legal peak, KiB.
const MOST_KIB: u64 = 64 << 10;

/// A trace as a reader: a head, then thread blocks until `blocks` were given.
struct Synthetic {
    bodies: Vec<String>,
    blocks: u64,
    next: u64,
    piece: Cursor<Vec<u8>>,
}

impl Synthetic {
    fn new(bytes: u64) -> Self {
        let bodies: Vec<String> = (0..BODIES).map(body).collect();
        let blocks = bytes.div_ceil(bodies[0].len() as u64);
        let head = format!(
            "-kernel name = synthetic\n-kernel id = 1\n-grid dim = ({blocks},1,1)\n-block dim = (256,1,1)\n\
             -accelsim tracer version = 5\n\n#traces format = …\n\n"
        );
        Self { bodies, blocks, next: 0, piece: Cursor::new(head.into_bytes()) }
    }
}

impl Read for Synthetic {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.piece.read(out)?;
            if read > 0 || self.next == self.blocks {
                return Ok(read);
            }
            let body = &self.bodies[(self.next % BODIES) as usize];
            self.piece = Cursor::new(format!("#BEGIN_TB\n\nthread block = {},0,0\n\n{body}", self.next).into_bytes());
            self.next += 1;
        }
    }
}

/// Eight warps of 10 rounds: five other instructions, two coalesced loads, a gather and a store.
fn body(number: u64) -> String {
    let mut text = String::new();
    for warp in 0..8u64 {
        let _ = write!(text, "warp = {warp}\ninsts = 90\n");
        for round in 0..10 {
            let place = (number * 80 + warp * 10 + round) * 128;
            let (a, b, c) = (0x7f00_0000_0000 + place, 0x7f10_0000_0000 + place, 0x7f20_0000_0000 + place);
            for pc in 0..5 {
                let _ = writeln!(text, "{:04x} ffffffff 1 R6 IMAD.MOV.U32 3 R6 R7 R255 0 0 ", pc * 16);
            }
            let _ = write!(
                text,
                "0050 ffffffff 1 R4 LDG.E 1 R4 4 1 {a:#x} 4 0 \n0060 ffffffff 1 R3 LDG.E 1 R2 4 1 {b:#x} 4 0 \n\
                 0070 ffffffff 1 R8 LDG.E.64 1 R10 8 2 {c:#x} "
            );
            for lane in 1..32u64 {
                let _ = write!(text, "{} ", (lane * 7919 + round * 104_729) as i64 % 4096 - 2048);
            }
            let _ = writeln!(text, "0 \n0080 ffffffff 0 STG.E 2 R6 R9 4 1 {a:#x} 4 0 ");
        }
        text.push('\n');
    }
    text + "#END_TB\n\n"
}

/// Counts the accesses of `events`.
fn read(events: TraceReader) -> Result<u64, TraceError> {
    let mut accesses = 0;
    for event in events {
        accesses += u64::from(matches!(event?, Event::Access(_)));
    }
    Ok(accesses)
}

/// Counts the accesses of `events`, dealt to 64 SMs that each take one in turn.
fn deal(events: TraceReader) -> Result<u64, TraceError> {
    let mut dealer = Dealer::new(events, DealParameters { sms: SMS, ..DealParameters::default() })?;
    let mut accesses = 0;
    while dealer.next_kernel()?.is_some() {
        while !dealer.kernel_done() {
            for sm in 0..SMS {
                accesses += u64::from(dealer.take_any(sm)?.is_some());
            }
        }
    }
    assert_eq!(dealer.starved(), 0, "the default budget is too small");
    Ok(accesses)
}

/// Seconds of processor time of this process, where the system tells; other load on the machine does not count.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// Peak memory of this process, KiB, where the system tells.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn main() -> Result<(), TraceError> {
    let megabytes = std::env::var("L1FORGE_BENCH_MB").ok().and_then(|text| text.parse().ok()).unwrap_or(1024);
    let bytes: u64 = megabytes << 20;
    type Work = fn(TraceReader) -> Result<u64, TraceError>;
    for (name, work) in [("make", None), ("read", Some(read as Work)), ("deal", Some(deal as Work))] {
        let (start, processor) = (Instant::now(), processor_seconds());
        let accesses = match work {
            None => std::io::copy(&mut Synthetic::new(bytes), &mut std::io::sink()).map(|_| 0).unwrap_or(0),
            Some(work) => work(TraceReader::from_reader(Synthetic::new(bytes), "synthetic", TraceOptions::default())?)?,
        };
        let elapsed = start.elapsed().as_secs_f64();
        let busy = processor.and_then(|from| Some(processor_seconds()? - from)).unwrap_or(elapsed);
        let speed = bytes as f64 / 1e6 / busy;
        let peak = peak_kib();
        let shown = peak.map_or("unknown".to_owned(), |kib| format!("{:.1} MiB", kib as f64 / 1024.0));
        println!(
            "{name}: {megabytes} MiB, {accesses} accesses, {elapsed:.2} s ({busy:.2} s of processor time, {speed:.0} MB/s), \
             peak memory {shown}"
        );
        if peak.is_some_and(|kib| kib > MOST_KIB) {
            eprintln!("the peak exceeds {} MiB", MOST_KIB >> 10);
            std::process::exit(1);
        }
    }
    Ok(())
}
