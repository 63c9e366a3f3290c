/** A section of a configuration file of git, with any text as value. */
export function configSection(name: string, values: Readonly<Record<string, string>>, subsection?: string): string {
  const title = subsection === undefined ? name : `${name} "${subsection.replaceAll(/["\\]/g, '\\$&')}"`;
  const lines = Object.entries(values).map(([key, value]) => `\t${key} = ${quoted(value)}\n`);
  return `[${title}]\n${lines.join('')}`;
}

const quoted = (value: string): string => `"${value.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
