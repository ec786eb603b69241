//! Placements that cannot be given, and why.

use super::role::Role;
use super::rule::Rule;
use crate::cpuset::CpuSet;
use crate::model::ExclusionReason;

/// A placement that the machine cannot give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// There are fewer logical CPUs than roles. None is shared: two threads that take turns on
    /// one CPU measure the scheduler.
    #[error(
        "{needed} pinned threads need a logical CPU each, but only {available} can be had; start \
         fewer threads, allow or list more CPUs, or use the pin policy `none`"
    )]
    NotEnough {
        /// The logical CPUs needed: one for each role.
        needed: usize,
        /// The logical CPUs allowed, or listed.
        available: usize,
    },
    /// A listed CPU is switched off.
    #[error(
        "CPU {cpu} is offline; list online CPUs only ({online}), or write 1 to \
         /sys/devices/system/cpu/cpu{cpu}/online"
    )]
    Offline {
        /// The CPU.
        cpu: u32,
        /// The CPUs that are online.
        online: CpuSet,
    },
    /// A listed CPU is not there.
    #[error("CPU {cpu} does not exist; online CPUs are {online}; list some of those")]
    NoSuchCpu {
        /// The CPU.
        cpu: u32,
        /// The CPUs that are online.
        online: CpuSet,
    },
    /// A listed CPU is online, but not for this process.
    #[error("CPU {cpu} is {reason}; list allowed CPUs ({allowed}), or {}", remedy(reason))]
    NotAllowed {
        /// The CPU.
        cpu: u32,
        /// What keeps this process off it.
        reason: ExclusionReason,
        /// The CPUs that are allowed.
        allowed: CpuSet,
    },
    /// A listed CPU, or one of a formula, belongs to another request already.
    #[error(
        "CPU {cpu}, wanted for {role} by `{rule}`, is taken by {by}; list different CPUs for the two, or \
         give one of them a rule such as `one-per-core`"
    )]
    Taken {
        /// The CPU.
        cpu: u32,
        /// The role that wants it.
        role: Role,
        /// The list or formula of that role.
        rule: Rule,
        /// The role that has it.
        by: Role,
    },
    /// Rules are given for each role, and a role that has threads is not among them.
    #[error("the pin policy does not say where {role} threads go; add `{role}=RULE` to it")]
    RoleNotNamed {
        /// The role.
        role: Role,
    },
    /// A rule does not work out on this machine, or for this number of threads.
    #[error("`{rule}` cannot place {}: {reason}", whose(*.role, *.threads))]
    Impossible {
        /// The role; `None` where one rule places all threads together.
        role: Option<Role>,
        /// The rule.
        rule: Rule,
        /// The threads to be placed.
        threads: usize,
        /// What is missing.
        reason: Shortage,
    },
}

fn whose(role: Option<Role>, threads: usize) -> String {
    let plural = if threads == 1 { "" } else { "s" };
    match role {
        Some(role) => format!("{threads} {role} thread{plural}"),
        None => format!("{threads} thread{plural}"),
    }
}

/// What a rule lacks. A core is free when no other request has a CPU of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Shortage {
    /// There are too few free cores.
    #[error("it needs {needed} free cores, and {free} can be had; start fewer threads, or allow more CPUs")]
    Cores {
        /// The cores needed.
        needed: usize,
        /// The free cores with an allowed CPU.
        free: usize,
    },
    /// There are too few free cores with enough allowed SMT siblings.
    #[error(
        "it needs {needed} free cores with {siblings} allowed SMT siblings, and {free} can be had; start \
         fewer threads, allow more CPUs, or see whether SMT is off"
    )]
    Siblings {
        /// The cores needed.
        needed: usize,
        /// The allowed siblings that each of them must have.
        siblings: usize,
        /// The free cores that have them.
        free: usize,
    },
    /// The free cores have too few logical CPUs.
    #[error("free cores have {free} allowed logical CPUs; start fewer threads, or allow more CPUs")]
    Cpus {
        /// The allowed logical CPUs of free cores.
        free: usize,
    },
    /// No file tells of a cache of level 3 or more.
    #[error("the machine tells of no last-level cache; take `one-node`, `pack` or a CPU list")]
    NoLastLevelCache,
    /// No last-level cache has enough logical CPUs.
    #[error(
        "no last-level cache has so many free CPUs, the best has {largest}; start fewer threads, or take `pack`"
    )]
    CacheTooSmall {
        /// The most allowed logical CPUs of free cores below one cache.
        largest: usize,
    },
    /// The kernel tells of no NUMA node with CPUs.
    #[error("the machine tells of no NUMA nodes; take `one-l3`, `pack` or a CPU list")]
    NoNumaNodes,
    /// No NUMA node has enough logical CPUs.
    #[error(
        "no NUMA node has so many free CPUs, the best has {largest}; start fewer threads, or take `pack`"
    )]
    NodeTooSmall {
        /// The most allowed logical CPUs of free cores of one node.
        largest: usize,
    },
    /// No file tells of packages.
    #[error("the machine tells of no packages; take `one-per-core` or a CPU list")]
    NoPackages,
    /// There are too few packages with enough cores.
    #[error(
        "it needs {needed} packages with {cores} allowed cores each, and {usable} can be had; start fewer \
         threads, or allow more CPUs"
    )]
    Packages {
        /// The packages needed.
        needed: usize,
        /// The cores needed in each.
        cores: usize,
        /// The packages that have so many.
        usable: usize,
    },
    /// Every set of cores that the rule could give has a core of another request.
    #[error("other roles have a core of each of its sets; place them on less, or by `client-on-rest`")]
    SetsTaken,
    /// There is no package without another request that has enough cores.
    #[error(
        "no package that other roles leave alone has {needed} free cores, the best has {largest}; start \
         fewer threads, allow more CPUs, or take `client-on-rest`"
    )]
    NoOtherPackage {
        /// The cores needed.
        needed: usize,
        /// The most free cores of a package on which no other request has a CPU.
        largest: usize,
    },
    /// The rule is for another number of threads.
    #[error("the number of threads must be {exactly}")]
    ThreadsMustBe {
        /// The one number that fits.
        exactly: usize,
    },
    /// The rule places threads in equal groups, and they do not divide.
    #[error("the number of threads must be a positive multiple of {of}")]
    NotAMultiple {
        /// The threads of a group.
        of: usize,
    },
    /// There cannot be so many cores for so many threads.
    #[error(
        "{physical} cores for {logical} threads make no sense; take a core at least, and no more than threads"
    )]
    Shape {
        /// The cores.
        physical: usize,
        /// The threads.
        logical: usize,
    },
    /// The list has fewer CPUs than there are threads.
    #[error("it lists {listed}; list a CPU for each thread, or start fewer threads")]
    List {
        /// The CPUs listed.
        listed: usize,
    },
    /// It would take CPUs of more than one kind.
    #[error(
        "it would mix the {kinds} kinds of CPU of this machine; start fewer threads, or list the CPUs to \
         mix them on purpose"
    )]
    OneKind {
        /// The kinds of CPU.
        kinds: usize,
    },
    /// There are more sets than anybody measures.
    #[error("there are more than {most} sets; choose a number of threads that fills fewer or more packages")]
    TooManySets {
        /// The most sets that are listed.
        most: usize,
    },
}

/// What would let this process use a CPU.
fn remedy(reason: &ExclusionReason) -> &'static str {
    match reason {
        ExclusionReason::Offline => "switch it on",
        ExclusionReason::NotInCpuset { .. } => "have it added to the group's cpuset",
        ExclusionReason::Isolated => "start under `taskset` with a mask that has it",
        ExclusionReason::NotInAffinityMask => "widen the mask with `taskset`",
    }
}
