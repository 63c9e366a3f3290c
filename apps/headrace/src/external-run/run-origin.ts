const MAX_METADATA_BYTES = 256;

/** Labels of a run from GitHub Actions, by the variables that GitHub sets in every job. */
const LABELS = {
  github_repository: 'GITHUB_REPOSITORY',
  github_ref: 'GITHUB_REF',
  github_sha: 'GITHUB_SHA',
  github_run_id: 'GITHUB_RUN_ID',
  github_workflow: 'GITHUB_WORKFLOW',
} as const;

/** What a request says of where its run comes from, by the environment that the command runs in. */
export function runOrigin(environment: NodeJS.ProcessEnv): Readonly<Record<string, unknown>> {
  if (environment.GITHUB_ACTIONS !== 'true') return { source: 'CLI', execution_location: 'LOCAL' };
  const metadata = Object.fromEntries(
    Object.entries(LABELS).flatMap(([label, name]) => {
      const value = environment[name] ?? '';
      return value === '' || Buffer.byteLength(value) > MAX_METADATA_BYTES ? [] : [[label, value] as const];
    }),
  );
  return {
    source: 'GITHUB_ACTION',
    execution_location: 'REMOTE',
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}
