import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok } from '../finding.js';

/** As in package.json. */
const OLDEST: readonly [number, number] = [20, 19];

export const nodeCheck: DoctorCheck = {
  name: 'node',
  uses: [],
  examine: () => Promise.resolve([judgeNode(process.versions.node)]),
};

/** `version`: such as `20.19.0`. */
export function judgeNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNewEnough = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
  const found = `Node.js ${version} on ${process.platform} ${process.arch}`;
  if (isNewEnough) return ok(found);
  return fail(`${found}; ${OLDEST.join('.')} is needed`, `Install Node.js ${OLDEST.join('.')} or newer.`);
}
