import type { Issue } from '#platform/kernel';

interface WithVariables {
  readonly env?: Readonly<Record<string, string>>;
  readonly secrets?: readonly { readonly name: string }[];
}

/** Variables that the runner sets itself: a variable or secret with such a name would have no effect. */
const RESERVED = /^(?:HEADRACE_.*|HOME|TMPDIR)$/;

/**
 * The environment variable that has a managed secret's value: its name where that is one, else with `_` for each dot and
 * hyphen, and before a digit at the beginning. `npm-token` → `npm_token`.
 */
export const variableOf = (secretName: string): string => secretName.replaceAll(/[.-]/g, '_').replace(/^(?=\d)/, '_');

export const reservedNameIssues = ({ env = {} }: Pick<WithVariables, 'env'>): Issue[] =>
  Object.keys(env)
    .filter((name) => RESERVED.test(name))
    .map((name) => ({ pointer: `/env/${name}`, detail: 'is a name that Headrace sets itself' }));

export function variableIssues({ env = {}, secrets = [] }: WithVariables): Issue[] {
  const taken = new Set(Object.keys(env));
  return secrets.flatMap(({ name }, index) => {
    const variable = variableOf(name);
    const pointer = `/secrets/${index}/name`;
    if (RESERVED.test(variable))
      return [{ pointer, detail: `becomes the variable ${variable}, which is Headrace's own` }];
    if (taken.has(variable))
      return [{ pointer, detail: `becomes the variable ${variable}, which \`env\` or another secret has already` }];
    taken.add(variable);
    return [];
  });
}
