//! A Gaussian process over products: what to expect of one that was not tried.
//!
//! The covariance of two products is a mixture of three. One falls exponentially with the number of slots in which they
//! differ (a Hamming kernel): it knows what features do together. One falls linearly: it knows what each feature does by
//! itself. And one is how they went together on other applications, if there is such experience. Length, mixture and noise
//! maximise the likelihood on a small grid; the scale follows from them. (Rasmussen and Williams, Gaussian Processes
//! for Machine Learning, 2006, sections 2.2, 2.7 and 5.4.1.)

use crate::tune::cholesky::Cholesky;

/// Lengths of the Hamming kernel, in slots.
const LENGTHS: [f64; 3] = [0.7, 1.5, 4.0];
/// Share of the linear part in the Hamming kernel.
const LINEAR: [f64; 3] = [0.0, 0.5, 0.9];
/// Variance of the noise of one run, as a share of the signal's.
const NOISE: [f64; 4] = [1e-4, 1e-2, 1e-1, 0.5];
/// Share of the experience in the covariance.
const EXPERIENCE: [f64; 4] = [0.0, 0.5, 0.9, 0.99];

/// What covariance is made of.
pub struct Kernel<'k> {
    /// Number of slots in which two products differ.
    pub distance: &'k (dyn Fn(usize, usize) -> usize + Sync),
    /// Number of slots.
    pub slots: usize,
    /// Covariance on other applications, about 1 for a product with itself.
    pub experience: Option<&'k (dyn Fn(usize, usize) -> f64 + Sync)>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Shape {
    length: f64,
    linear: f64,
    noise: f64,
    experience: f64,
}

/// A process that has seen some products.
pub struct Gaussian<'k> {
    kernel: &'k Kernel<'k>,
    seen: Vec<usize>,
    shape: Shape,
    covariance: Cholesky,
    /// The mean of all products, and the variance of one.
    mean: f64,
    scale: f64,
    /// K⁻¹ (y − mean).
    weights: Vec<f64>,
}

impl Kernel<'_> {
    fn at(&self, a: usize, b: usize, shape: &Shape) -> f64 {
        let distance = (self.distance)(a, b) as f64;
        let linear = shape.linear * (1.0 - distance / self.slots.max(1) as f64);
        let near = linear + (1.0 - shape.linear) * (-distance / shape.length).exp();
        let together = self.experience.map_or(0.0, |experience| experience(a, b));
        (1.0 - shape.experience) * near + shape.experience * together
    }
}

/// The grid.
fn shapes(experience: &[f64]) -> impl Iterator<Item = Shape> {
    let noisy = |shape: Shape| NOISE.into_iter().map(move |noise| Shape { noise, ..shape });
    let mixed = |(length, linear)| {
        experience.iter().map(move |&experience| Shape { length, linear, experience, noise: 0.0 })
    };
    let near = LENGTHS.into_iter().flat_map(|length| LINEAR.into_iter().map(move |linear| (length, linear)));
    near.flat_map(mixed).flat_map(noisy)
}

impl<'k> Gaussian<'k> {
    /// Fits the process to the values of the products that were tried, each the mean of so many runs. `None` if there are
    /// none.
    pub fn fit(
        kernel: &'k Kernel<'k>,
        seen: &[usize],
        values: &[f64],
        runs: &[usize],
    ) -> Option<Gaussian<'k>> {
        let shares = if kernel.experience.is_some() { &EXPERIENCE[..] } else { &EXPERIENCE[..1] };
        let mut best: Option<(f64, Gaussian)> = None;
        for shape in shapes(shares) {
            let Some((likelihood, fitted)) = Gaussian::with(kernel, seen, values, runs, shape) else {
                continue;
            };
            if best.as_ref().is_none_or(|(most, _)| likelihood > *most) {
                best = Some((likelihood, fitted));
            }
        }
        best.map(|(_, fitted)| fitted)
    }

    /// The process with this shape, and the logarithm of its likelihood (without constants).
    fn with(
        kernel: &'k Kernel<'k>,
        seen: &[usize],
        values: &[f64],
        runs: &[usize],
        shape: Shape,
    ) -> Option<(f64, Gaussian<'k>)> {
        let n = seen.len();
        if n == 0 {
            return None;
        }
        let covariance = Cholesky::of(n, |row, column| {
            let noise = if row == column { shape.noise / runs[row] as f64 } else { 0.0 };
            kernel.at(seen[row], seen[column], &shape) + noise
        })?;
        let solved = covariance.solve(&vec![1.0; n]);
        let mean = dot(values, &solved) / solved.iter().sum::<f64>();
        let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let weights = covariance.solve(&centred);
        // Not zero, if all values are equal.
        let scale = (dot(&centred, &weights) / n as f64).max(1e-12);
        let likelihood = -0.5 * (n as f64 * scale.ln() + covariance.log_determinant());
        Some((likelihood, Gaussian { kernel, seen: seen.to_vec(), shape, covariance, mean, scale, weights }))
    }

    /// Mean and standard deviation of a product's value, without noise.
    pub fn predict(&self, product: usize) -> (f64, f64) {
        let column: Vec<f64> =
            self.seen.iter().map(|&seen| self.kernel.at(seen, product, &self.shape)).collect();
        let explained = dot(&column, &self.covariance.solve(&column));
        let variance = (self.kernel.at(product, product, &self.shape) - explained).max(0.0);
        (self.mean + dot(&column, &self.weights), (variance * self.scale).sqrt())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: usize, b: usize) -> usize {
        (a ^ b).count_ones() as usize
    }

    #[test]
    fn what_was_seen_is_known_and_what_is_near_is_expected() {
        // Products are three bits; the value is the first one's.
        let kernel = Kernel { distance: &distance, slots: 3, experience: None };
        let fitted =
            Gaussian::fit(&kernel, &[0b000, 0b001, 0b010, 0b101], &[0.0, 1.0, 0.0, 1.0], &[1; 4]).unwrap();
        let (known, sure) = fitted.predict(0b001);
        assert!((known - 1.0).abs() < 0.05 && sure < 0.2, "{known} {sure}");
        let ((high, unsure), (low, _)) = (fitted.predict(0b111), fitted.predict(0b110));
        assert!(high > low && unsure > sure, "{high} {low} {unsure}");
    }

    #[test]
    fn experience_relates_products_that_are_far_apart() {
        // Elsewhere 0 and 7 are slow, and the others fast.
        let sign = |product: usize| if product == 0 || product == 7 { 1.0 } else { -1.0 };
        let together = |a: usize, b: usize| sign(a) * sign(b);
        let kernel = Kernel { distance: &distance, slots: 3, experience: Some(&together) };
        let fitted = Gaussian::fit(&kernel, &[0, 1, 2, 4], &[1.0, -1.0, -1.02, -0.98], &[1; 4]).unwrap();
        assert!(fitted.predict(7).0 > 0.8, "{:?}", fitted.predict(7));
        assert!(fitted.predict(3).0 < -0.8, "{:?}", fitted.predict(3));
    }

    #[test]
    fn equal_values_are_no_error() {
        let kernel = Kernel { distance: &distance, slots: 3, experience: None };
        let fitted = Gaussian::fit(&kernel, &[0, 1, 2], &[0.5; 3], &[1; 3]).unwrap();
        assert!((fitted.predict(5).0 - 0.5).abs() < 1e-6);
        assert!(Gaussian::fit(&kernel, &[], &[], &[]).is_none());
    }
}
