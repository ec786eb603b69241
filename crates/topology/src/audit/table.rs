//! The checks, in the order in which they usually matter: what stops a thread for milliseconds
//! comes first, what costs microseconds or only hides causes comes last.

use super::{Check, Rule, frequency, idle, interrupts, kernel, sharing, steal};

const HOST_CLOCK: &str = "the kernel governs no frequency here; in a virtual machine the host does";
const OTHER_ROOT: &str = "procfs is not mounted, or a container hides the file";

pub(super) const RULES: [Rule; 19] = [
    Rule {
        check: Check::Affinity,
        effect: "Threads that must share one CPU wait for each other for a scheduler's slice, some 1 to 4 ms; \
                 on a CPU that is not allowed nothing can be pinned.",
        absent: OTHER_ROOT,
        look: sharing::affinity,
    },
    Rule {
        check: Check::CpuQuota,
        effect: "Once the quota of a period is used up, every thread of the group stands still until the next: \
                 with the usual period of 100 ms that is a stall of tens of milliseconds, again and again.",
        absent: "without procfs nobody tells which control groups this process is in",
        look: sharing::cpu_quota,
    },
    Rule {
        check: Check::Steal,
        effect: "The hypervisor runs somebody else while a thread wants to run. Such a pause usually lasts \
                 milliseconds, and in the guest it looks like a slow service.",
        absent: OTHER_ROOT,
        look: steal::steal,
    },
    Rule {
        check: Check::Load,
        effect: "A thread that has to wait for its CPU waits for a scheduler's slice, some 1 to 4 ms. Idle or \
                 not, other programs also push data out of shared caches.",
        absent: OTHER_ROOT,
        look: sharing::load,
    },
    Rule {
        check: Check::CStates,
        effect: "The first request after a pause waits for the CPU to wake: 1 or 2 us from C1, 50 to 200 us and \
                 more from C6, and then finds cold caches. The tail gets worse as the load gets lower.",
        absent: "the kernel has no idle states for this processor; what a halt costs is not told",
        look: idle::c_states,
    },
    Rule {
        check: Check::Governor,
        effect: "The clock follows the load with a delay of milliseconds, so that a burst begins at a low \
                 frequency: often 2 to 4 times slower than the same work on a busy CPU.",
        absent: HOST_CLOCK,
        look: frequency::governor,
    },
    Rule {
        check: Check::EnergyPreference,
        effect: "The processor itself raises its clock late, or not to the top, to save power. Bursts begin \
                 slowly, and equal runs differ.",
        absent: HOST_CLOCK,
        look: frequency::energy_preference,
    },
    Rule {
        check: Check::SmtSiblings,
        effect: "While both siblings work, each gets some 60 % of the speed of a core of its own, and they share \
                 L1 and L2. Service times change by half whenever the other one starts or stops.",
        absent: OTHER_ROOT,
        look: sharing::smt_siblings,
    },
    Rule {
        check: Check::Interrupts,
        effect: "An interrupt takes the CPU for some 1 to 10 us; the network processing that follows may take \
                 up to 2 ms at a stretch. Queues of network cards move. Those of disks (NVMe, virtio-blk, SCSI \
                 controllers) are most often placed by the kernel, which then refuses the command for that line \
                 (no file tells beforehand); isolcpus=managed_irq at boot keeps them away as far as it can.",
        absent: OTHER_ROOT,
        look: interrupts::interrupts,
    },
    Rule {
        check: Check::Swap,
        effect: "A page that was swapped out comes back from the disk while the request waits: some 100 us from \
                 flash, 10 ms from a rotating disk.",
        absent: "the kernel has no swap, or procfs is not mounted",
        look: kernel::swap,
    },
    Rule {
        check: Check::HugePages,
        effect: "A first touch may clear 2 MiB instead of 4 KiB, some 100 us; and khugepaged stops a program's \
                 memory for about as long while it joins pages behind its back.",
        absent: "the kernel is built without transparent huge pages, or a container hides the file",
        look: kernel::huge_pages,
    },
    Rule {
        check: Check::HugePageDefrag,
        effect: "A page fault that finds no free huge page moves other memory about to make one: hundreds of \
                 microseconds to milliseconds, in the request that faulted.",
        absent: "the kernel is built without transparent huge pages, or a container hides the file",
        look: kernel::huge_page_defrag,
    },
    Rule {
        check: Check::NumaBalancing,
        effect: "The kernel unmaps pages to see who uses them: each next touch is a page fault of some \
                 microseconds, more if the page is then moved to another node.",
        absent: "the kernel is built without NUMA balancing, or a container hides the file",
        look: kernel::numa_balancing,
    },
    Rule {
        check: Check::Turbo,
        effect: "The clock depends on temperature and on how many other cores work; 10 to 50 % between runs of \
                 the same program is usual. Without turbo runs are comparable, and slower.",
        absent: HOST_CLOCK,
        look: frequency::turbo,
    },
    Rule {
        check: Check::Clocksource,
        effect: "Each look at the clock is a system call and an access to a slow device, up to some \
                 microseconds instead of 20 to 50 ns. A program that takes timestamps is slowed by them.",
        absent: "sysfs is not mounted, or a container hides the file",
        look: kernel::clocksource,
    },
    Rule {
        check: Check::Isolated,
        effect: "The scheduler may put any thread of the machine on these CPUs for a slice. A hint, not a \
                 fault: it matters for the p99.9 and beyond on a machine with cores to spare.",
        absent: "the kernel is too old or built without isolation, or a container hides the file",
        look: sharing::isolated,
    },
    Rule {
        check: Check::NohzFull,
        effect: "The scheduler's tick interrupts a running thread 100 to 1000 times a second for 1 to 5 us. A \
                 hint, not a fault: it matters only where microseconds do.",
        absent: "the kernel is built without CONFIG_NO_HZ_FULL, so the tick runs, or the file is hidden",
        look: sharing::nohz_full,
    },
    Rule {
        check: Check::NmiWatchdog,
        effect: "Where it is driven by a counter, as on most x86 machines, it occupies one hardware counter of \
                 each CPU, so that groups of events that would fit do not; its interrupt, some microseconds, \
                 comes every ten seconds or so.",
        absent: "the kernel is built without it, or a container hides the file",
        look: kernel::nmi_watchdog,
    },
    Rule {
        check: Check::PerfEventParanoid,
        effect: "It lengthens no tail, and hides what does: from 2 on a thread's time in the kernel (network, \
                 page faults) is not counted. Levels above 2 mean the same, except on kernels with the patch of \
                 Debian, Ubuntu or Android, where nothing is counted. Root is exempt, and CAP_PERFMON on most \
                 kernels.",
        absent: "the kernel is built without perf events, or a container hides the file",
        look: kernel::perf_event_paranoid,
    },
];
