import type { Finding } from './finding.js';
import type { Patient } from './patient.js';

/** One thing that is looked at. Reads; what it writes to try something out it removes again. */
export interface DoctorCheck {
  /** As shown, such as `database`. */
  readonly name: string;
  /** Settings that it relies on: when one of them is wrong, it is skipped. */
  readonly uses: readonly string[];
  /** What it rejects with is told as a failure. It is left alone once its time is up. */
  examine(patient: Patient): Promise<readonly Finding[]>;
}
