//! Cholesky decomposition of a small matrix. (Golub and Van Loan, Matrix Computations, 2013, section 4.2.5.)

/// The lower triangle L of a symmetric, positive definite matrix A = L·Lᵀ.
pub struct Cholesky {
    size: usize,
    /// By rows; row i has i + 1 entries.
    lower: Vec<f64>,
}

impl Cholesky {
    /// Decomposes the matrix with these entries, of which it reads the lower triangle: `entry(row, column)`. `None` if the
    /// matrix is not positive definite.
    pub fn of(size: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Cholesky> {
        let mut lower: Vec<f64> = Vec::with_capacity(start(size));
        for row in 0..size {
            for column in 0..=row {
                let (this, above) = (&lower[start(row)..], &lower[start(column)..]);
                let known: f64 = this.iter().zip(above).take(column).map(|(a, b)| a * b).sum();
                let rest = entry(row, column) - known;
                if column < row {
                    lower.push(rest / lower[start(column) + column]);
                } else if rest > 0.0 && rest.is_finite() {
                    lower.push(rest.sqrt());
                } else {
                    return None;
                }
            }
        }
        Some(Cholesky { size, lower })
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.lower[start(row) + column]
    }

    /// Solves A·x = b.
    ///
    /// # Panics
    /// If b has another size than the matrix.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        assert_eq!(b.len(), self.size);
        let mut x = b.to_vec();
        for row in 0..self.size {
            let known: f64 = (0..row).map(|column| self.at(row, column) * x[column]).sum();
            x[row] = (x[row] - known) / self.at(row, row);
        }
        for row in (0..self.size).rev() {
            let known: f64 = (row + 1..self.size).map(|column| self.at(column, row) * x[column]).sum();
            x[row] = (x[row] - known) / self.at(row, row);
        }
        x
    }

    /// The logarithm of the determinant of A.
    pub fn log_determinant(&self) -> f64 {
        2.0 * (0..self.size).map(|row| self.at(row, row).ln()).sum::<f64>()
    }
}

/// Where a row starts.
fn start(row: usize) -> usize {
    row * (row + 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_matrix_is_decomposed() {
        // The example of Wikipedia's page: L is [2], [6, 1], [-8, 5, 3].
        let a = [[4.0, 12.0, -16.0], [12.0, 37.0, -43.0], [-16.0, -43.0, 98.0]];
        let found = Cholesky::of(3, |row, column| a[row][column]).unwrap();
        assert_eq!(found.lower, [2.0, 6.0, 1.0, -8.0, 5.0, 3.0]);
        assert!((found.log_determinant() - 36_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn what_is_solved_solves_the_equation() {
        for size in [0, 1, 2, 7, 25, 60] {
            let entry =
                |a: usize, b: usize| (-(a.abs_diff(b) as f64) / 4.0).exp() + if a == b { 0.01 } else { 0.0 };
            let b: Vec<f64> = (0..size).map(|row| (row as f64 * 1.7).sin()).collect();
            let x = Cholesky::of(size, entry).unwrap().solve(&b);
            for (row, wanted) in b.iter().enumerate() {
                let found: f64 = x.iter().enumerate().map(|(column, x)| entry(row, column) * x).sum();
                assert!((found - wanted).abs() < 1e-9, "{size}: {found} is not {wanted}");
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused() {
        assert!(Cholesky::of(2, |_, _| 1.0).is_none(), "singular");
        assert!(Cholesky::of(2, |row, column| if row == column { 1.0 } else { 2.0 }).is_none(), "indefinite");
        assert!(Cholesky::of(1, |_, _| f64::NAN).is_none());
    }
}
