//! Whether the parts that were read can all be true of one machine.

use std::collections::HashMap;

use crate::cpuset::CpuSet;
use crate::read::files::{CPU_DIR, Files};

/// What the groups of one sort are called, and their CPUs; no two overlap.
pub(crate) type Family<'a> = (&'static str, Vec<&'a CpuSet>);

/// Makes a problem of each two families of which one is not divided by the other, the finest family
/// first: a core lies in one package. The groups stay as they are, for the files do not tell which
/// of them is wrong.
pub(crate) fn check(files: &mut Files<'_>, families: &[Family<'_>]) {
    for (index, (inner_name, inner)) in families.iter().enumerate() {
        for (outer_name, outer) in &families[index + 1..] {
            let Some((part, whole, cpu)) = crossing(inner, outer) else { continue };
            let message = format!(
                "says that the {inner_name} of CPU {cpu} is `{part}` and its {outer_name} `{whole}`, but no \
                 {inner_name} is larger than a {outer_name}, or in two"
            );
            files.problem(&format!("{CPU_DIR}/cpu{cpu}/topology"), message);
        }
    }
}

/// The first group of `inner` that has CPUs of a group of `outer` and others, that group, and a CPU
/// of both. Each CPU is looked at twice, however many groups there are.
fn crossing<'a>(inner: &[&'a CpuSet], outer: &[&'a CpuSet]) -> Option<(&'a CpuSet, &'a CpuSet, u32)> {
    let of_group = |(index, cpus): (usize, &&'a CpuSet)| cpus.iter().map(move |cpu| (cpu, index));
    let group_of: HashMap<u32, usize> = outer.iter().enumerate().flat_map(of_group).collect();
    inner.iter().find_map(|part| {
        let groups = || part.iter().map(|cpu| group_of.get(&cpu));
        let first = groups().next()?;
        let divided = groups().any(|group| group != first);
        let (cpu, group) = part.iter().zip(groups()).find_map(|(cpu, group)| Some((cpu, *group?)))?;
        divided.then(|| (*part, outer[group], cpu))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(inner: &[&str], outer: &[&str]) -> Option<String> {
        let parse = |lists: &[&str]| lists.iter().map(|list| list.parse().unwrap()).collect::<Vec<CpuSet>>();
        let (inner, outer) = (parse(inner), parse(outer));
        let (part, whole, cpu) =
            crossing(&inner.iter().collect::<Vec<_>>(), &outer.iter().collect::<Vec<_>>())?;
        Some(format!("{part} {whole} {cpu}"))
    }

    #[test]
    fn a_part_lies_inside_of_one_whole_or_apart_from_all() {
        assert_eq!(found(&["0-1", "2-3", "8"], &["0-3", "4-7"]), None);
        assert_eq!(found(&["0-3"], &["0-3"]), None);
        assert_eq!(found(&[], &["0"]), None);
        assert_eq!(found(&["0-1", "3-4", "5,7"], &["0-3", "4-6"]).as_deref(), Some("3-4 0-3 3"));
        assert_eq!(found(&["0-3"], &["1-2"]).as_deref(), Some("0-3 1-2 1"));
    }

    /// Disjoint groups: the group of each CPU, of four; of none for the highest number.
    fn groups() -> impl Strategy<Value = Vec<CpuSet>> {
        proptest::collection::vec(0..5_usize, 10).prop_map(|of_cpu| {
            let members = |group| (0_u32..).zip(&of_cpu).filter(move |&(_, of)| *of == group);
            let sets = (0..4).map(|group| members(group).map(|(cpu, _)| cpu).collect::<CpuSet>());
            sets.filter(|set| !set.is_empty()).collect()
        })
    }

    proptest! {
        #[test]
        fn agrees_with_comparing_every_two(inner in groups(), outer in groups()) {
            let crosses = |a: &CpuSet, b: &CpuSet| !a.intersection(b).is_empty() && !a.is_subset(b);
            let first = inner.iter().find(|part| outer.iter().any(|whole| crosses(part, whole)));
            let (inner, outer) = (inner.iter().collect::<Vec<_>>(), outer.iter().collect::<Vec<_>>());
            let found = crossing(&inner, &outer);
            prop_assert_eq!(found.map(|(part, _, _)| part), first);
            if let Some((part, whole, cpu)) = found {
                prop_assert!(crosses(part, whole) && part.contains(cpu) && whole.contains(cpu));
            }
        }
    }
}
