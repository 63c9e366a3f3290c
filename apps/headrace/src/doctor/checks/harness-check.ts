import {
  BUILTIN_HARNESS,
  type DetectedHarness,
  detectHarnesses,
  HarnessesFileError,
  readHarnessesFile,
  STANDARD_HARNESSES,
} from '#execution/runner';
import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok, skip, warn } from '../finding.js';

/** Which agents are installed. Those that HARNESSES_FILE or --harness names have to be; the others may be missing. */
export const harnessCheck: DoctorCheck = {
  name: 'harnesses',
  uses: ['HARNESSES_FILE'],
  examine: async ({ settings: { harnessesFile, executor }, options }) => {
    const isInContainers = options.isWorker ? options.backend === 'docker' : executor === 'docker';
    if (isInContainers && options.harnesses.length === 0)
      return [skip('not checked: with docker, agents are installed in the images of environments')];
    let extra: ReturnType<typeof readHarnessesFile>;
    try {
      extra = readHarnessesFile(harnessesFile);
    } catch (error) {
      if (!(error instanceof HarnessesFileError)) throw error;
      return error.problems.map((problem) =>
        fail(problem.replace(/\.$/, ''), `Mend ${harnessesFile}; docs/harnesses.md describes it.`),
      );
    }
    const known = { ...STANDARD_HARNESSES, ...extra };
    const hintOf = (id: string): string => known[id]?.install_hint ?? `install the command ${known[id]?.command ?? id}`;
    const wanted = new Set([...Object.keys(extra), ...options.harnesses]);
    return compare(await detectHarnesses(extra), wanted, hintOf);
  },
};

function compare(
  detected: readonly DetectedHarness[],
  wanted: ReadonlySet<string>,
  hintOf: (id: string) => string,
): Finding[] {
  const missing = detected.filter(({ installed }) => !installed).map(({ id }) => id);
  const optional = missing.filter((id) => !wanted.has(id));
  const isKnown = (id: string): boolean => id === BUILTIN_HARNESS || detected.some((harness) => harness.id === id);
  const installed = detected
    .filter((harness) => harness.installed)
    .map(({ id, version }) => (version === undefined ? id : `${id} ${version}`));
  const there = `installed: ${[BUILTIN_HARNESS, ...installed].join(', ')}`;
  return [
    ...missing.filter((id) => wanted.has(id)).map((id) => fail(`${id} is not installed`, hintOf(id))),
    ...[...wanted]
      .filter((id) => !isKnown(id))
      .map((id) => fail(`${id} is not known`, 'Describe it in the file that HARNESSES_FILE names, or mend --harness.')),
    optional.length === 0
      ? ok(there)
      : warn(
          `${there}; not installed: ${optional.join(', ')}`,
          ...optional.map((id) => `${id}, where runs shall use it: ${hintOf(id)}`),
        ),
  ];
}
