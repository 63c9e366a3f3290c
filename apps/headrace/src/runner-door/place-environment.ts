/** Of whoever started the runner, and about this process rather than what it starts. */
const OWN = /^(HEADRACE_|TASK_ID$|WARP_SERVER_ROOT_URL$|HARNESSES_FILE$|NODE_CHANNEL_FD$|_$|PWD$|OLDPWD$|SHLVL$)/;

/** What commands and agent get of this process's environment; call when what is secret in it has been taken out. */
export function placeEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || OWN.test(name) ? [] : [[name, value] as const],
    ),
  );
}
