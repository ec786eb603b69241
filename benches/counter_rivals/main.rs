//! What reading a group of eight software events costs, side by side with other crates.
//!
//! Each round takes every way of reading in turn, on a thread that is pinned to one CPU; a round's figure is
//! the median of many short batches, so that a tick of the kernel does not get into it. Printed are the median
//! and the range of the rounds, as Markdown.
//!
//! `cargo bench -p tailcore-benches --features rivals --bench counter_rivals`

mod contender;
mod events;
mod ours;
mod rivals;
mod rounds;

use contender::Contender;
use rounds::{Effort, Figures};

fn main() {
    // cargo passes `--bench` to a measurement, and `--test` is a trial that it works.
    let effort =
        if std::env::args().any(|argument| argument == "--test") { Effort::TRIAL } else { Effort::FULL };
    let cpus = tailcore_topology::current_affinity().expect("the kernel tells the mask of a thread");
    // The first CPU has the interrupts on most machines.
    let cpu = cpus.iter().last().expect("a thread runs somewhere");
    tailcore_topology::pin_current_thread(cpu).expect("a thread may stay where it is allowed");

    if let Some(reason) = ours::absence() {
        return println!("counter_rivals: skipped: {reason}");
    }
    let mut contenders = ours::contenders();
    contenders.extend(rivals::contenders());
    contenders.iter_mut().for_each(Contender::check);
    let figures = rounds::run(&mut contenders, effort);

    println!("\nReading a group of {} software events, CPU {cpu}, {effort}:\n", events::NAMES.len());
    println!("| what | median, ns | range, ns | above the raw read(2), ns |\n| --- | --- | --- | --- |");
    for (contender, times) in contenders.iter().zip(&figures) {
        let above = times.less(&figures[0]);
        println!("| {} | {} | {} | {} |", contender.name, times.median(), times.range(), above.both());
    }

    let mut parts = ours::parts();
    let figures = rounds::run(&mut parts, effort);
    println!("\nThe parts of it that are no system call:\n");
    println!("| what | median, ns | range, ns |\n| --- | --- | --- |");
    let line = |name, figures: Figures| println!("| {name} | {} | {} |", figures.median(), figures.range());
    let events = events::NAMES.len() as f64;
    line("interval arithmetic, one event (`Counters::outcome`)", figures[0].divided_by(events));
    line("difference of two totals, one event (`Snapshot::totals`)", figures[1].divided_by(events));
    line("asking the user page of a group that no register counts", figures[2].less(&figures[3]));
}
