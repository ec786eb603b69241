//! Placements that cannot be given, and why.

use super::role::Role;
use super::rule::Rule;
use crate::cpuset::CpuSet;
use crate::model::ExclusionReason;
use crate::view::words::count;

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
    role.map_or_else(|| count(threads, "thread"), |role| count(threads, &format!("{role} thread")))
}

/// What a rule lacks. A core is free when no other request has a CPU of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Shortage {
    /// There are too few free cores.
    #[error(
        "it needs {}, and {free} can be had; start fewer threads, or allow more CPUs",
        count(*.needed, "free core")
    )]
    Cores {
        /// The cores needed.
        needed: usize,
        /// The free cores with an allowed CPU.
        free: usize,
    },
    /// There are too few free cores with enough allowed SMT siblings.
    #[error(
        "it needs {} with {}, and {free} can be had; start \
         fewer threads, allow more CPUs, or see whether SMT is off",
        count(*.needed, "free core"),
        count(*.siblings, "allowed SMT sibling")
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
    #[error(
        "free cores have {}; start fewer threads, or allow more CPUs",
        count(*.free, "allowed logical CPU")
    )]
    Cpus {
        /// The allowed logical CPUs of free cores.
        free: usize,
    },
    /// No file tells of a cache of level 3 or more.
    #[error("{}; take `pack` or a CPU list", no_last_level(*.highest))]
    NoLastLevelCache {
        /// The level of the last cache that holds data; `None` where no file tells of one.
        highest: Option<u8>,
    },
    /// No last-level cache has enough logical CPUs.
    #[error(
        "no last-level cache has so many free CPUs, the best has {largest}; start fewer threads, or take `pack`"
    )]
    CacheTooSmall {
        /// The most allowed logical CPUs of free cores below one cache.
        largest: usize,
    },
    /// The kernel tells of no NUMA node with CPUs.
    #[error("the machine tells of no NUMA nodes; take `pack` or a CPU list")]
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
        "it needs {} with {} each, and {usable} can be had; start fewer \
         threads, or allow more CPUs",
        count(*.needed, "package"),
        count(*.cores, "allowed core")
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
        "no package that other roles leave alone has {}, the best has {largest}; start \
         fewer threads, allow more CPUs, or take `client-on-rest`",
        count(*.needed, "free core")
    )]
    NoOtherPackage {
        /// The cores needed.
        needed: usize,
        /// The most free cores of a package on which no other request has a CPU.
        largest: usize,
    },
    /// No package is another request's yet, so there is none to share.
    #[error(
        "no other role has a CPU in a known package before it is decided; place another role first, or take \
         `one-per-core`"
    )]
    NoPackageInUse,
    /// The packages of other requests have too few free cores for an even share each.
    #[error(
        "it deals its threads evenly over {} that other roles use, with {} together and at least {least} in \
         each; start fewer threads, allow more CPUs, or take `client-on-rest`",
        count(*.packages, "package"),
        count(*.free, "free core")
    )]
    SamePackages {
        /// The packages in which other requests have CPUs.
        packages: usize,
        /// The free cores of all of them.
        free: usize,
        /// The free cores of the package that has the fewest.
        least: usize,
    },
    /// There are more threads than any machine has CPUs for.
    #[error("a request is for {most} threads at most; start fewer threads")]
    TooManyThreads {
        /// The most threads of a request.
        most: usize,
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
        "{} for {} make no sense; take a core at least, and no more than threads",
        count(*.physical, "core"),
        count(*.logical, "thread")
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

fn no_last_level(highest: Option<u8>) -> String {
    match highest {
        Some(level) => format!("the last-level cache is an L{level}, and the rule needs an L3 or higher"),
        None => "the machine tells of no caches that hold data".to_owned(),
    }
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
