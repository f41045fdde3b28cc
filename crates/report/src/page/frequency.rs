//! Distributions of the busy cores' frequencies, as in figure 6 of the Nest paper.

use super::Distribution;
use super::colour::{self, GhzScale, Scales};
use super::html::escape;
use super::number::{UNKNOWN, fixed, percent};
use super::table::{grouped, name_width};
use hearth_base::colour::table;
use std::fmt::Write;

pub fn section(all: &[Distribution], scales: &Scales) -> String {
    if all.is_empty() {
        return String::new();
    }
    let width = name_width(all.iter().flat_map(|it| [&*it.setting.policy, &it.setting.governor]));
    let mut html = format!(
        "<section id=\"frequencies\"><h2>Frequencies of busy cores</h2>\
         <p class=\"lead\">The share of busy core time at each frequency, coldest to the left. \
         At the right, the mean.</p><div class=\"charts\" style=\"{width}\">"
    );
    for (machine, of_machine) in grouped(all.iter(), |it| &it.setting.machine) {
        let scale = scales.of(&of_machine[0].setting);
        let unknown =
            of_machine.iter().flat_map(|it| &it.residency).any(|(ghz, ms)| !colour::known(*ghz) && *ms > 0.0);
        let _ = write!(
            html,
            "<table class=\"chart\"><caption><b>{}</b></caption><colgroup><col class=\"name\"><col><col class=\"value\"></colgroup><thead class=\"hidden\"><tr>\
             <th scope=\"col\">Policy</th><th scope=\"col\">Shares</th><th scope=\"col\">Mean GHz</th></tr></thead>",
            escape(machine)
        );
        for (governor, of_governor) in grouped(of_machine.into_iter(), |it| &it.setting.governor) {
            html.push_str("<tbody>");
            if !governor.is_empty() {
                let governor = escape(governor);
                let _ = write!(
                    html,
                    "<tr><th class=\"governor\" scope=\"rowgroup\" colspan=\"3\">{governor}</th></tr>"
                );
            }
            for it in of_governor {
                html.push_str(&line(it, scale));
            }
            html.push_str("</tbody>");
        }
        let _ = write!(
            html,
            "<tfoot><tr><td class=\"unit\">GHz</td><td>{}</td><td>{}</td></tr></tfoot></table>",
            scale.legend(),
            colour::unknown_key(unknown)
        );
    }
    html + "</div></section>"
}

fn line(it: &Distribution, scale: &GhzScale) -> String {
    let Shares { shares, unknown, mean } = shares(&it.residency, scale);
    let named = shares.iter().enumerate().map(|(bin, share)| (scale.range(bin), scale.colour(bin), *share));
    let unknown = ("unknown frequency".to_string(), table().unknown, unknown);
    let (mut bars, mut words, mut x) = (String::new(), Vec::new(), 0.0);
    for (range, colour, share) in named.chain([unknown]).filter(|(_, _, share)| *share > 0.0) {
        let share_text = percent(share);
        let _ = write!(
            bars,
            "<rect x=\"{:.2}%\" width=\"{:.2}%\" y=\"3\" height=\"14\" fill=\"{colour}\"><title>{range}: {share_text}</title></rect>",
            x * 100.0,
            share * 100.0
        );
        words.push(format!("{share_text} at {range}"));
        x += share;
    }
    let (words, policy) = (words.join(", "), escape(&it.setting.policy));
    let mean = if mean.is_finite() { format!("{} GHz", fixed(mean, 2)) } else { UNKNOWN.into() };
    format!(
        "<tr><th scope=\"row\" title=\"{policy}\">{policy}</th><td class=\"plot\"><svg class=\"shares\" width=\"100%\" height=\"20\" \
         role=\"img\" aria-label=\"{words}\">{bars}</svg></td><td>{mean}</td></tr>"
    )
}

struct Shares {
    /// Share of the busy time in each bin.
    shares: Vec<f64>,
    unknown: f64,
    mean: f64,
}

fn shares(residency: &[(f64, f64)], scale: &GhzScale) -> Shares {
    let mut shares = vec![0.0; scale.bins];
    let (mut unknown, mut sum) = (0.0, 0.0);
    for (ghz, ms) in residency.iter().filter(|(_, ms)| ms.is_finite() && *ms > 0.0) {
        match scale.bin(*ghz) {
            Some(bin) => (shares[bin], sum) = (shares[bin] + ms, sum + ghz * ms),
            None => unknown += ms,
        }
    }
    let known: f64 = shares.iter().sum();
    let total = known + unknown;
    if total > 0.0 {
        shares.iter_mut().for_each(|share| *share /= total);
        unknown /= total;
    }
    Shares { shares, unknown, mean: sum / known }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let scale = GhzScale::new([1.0, 4.0]);
        let it = shares(&[(4.0, 30.0), (1.0, 10.0), (0.0, 10.0), (2.0, f64::NAN), (2.0, -5.0)], &scale);
        assert_eq!(it.unknown, 0.2);
        assert_eq!(it.shares.iter().sum::<f64>() + it.unknown, 1.0);
        assert_eq!(it.mean, (4.0 * 30.0 + 10.0) / 40.0);
        assert!(shares(&[], &scale).mean.is_nan());
    }
}
