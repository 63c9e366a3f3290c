/** Readers of untrusted JSON: a field of the wrong type counts as absent. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function field(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export function textField(value: unknown, ...names: string[]): string | undefined {
  for (const name of names) {
    const found = field(value, name);
    if (typeof found === 'string' && found !== '') return found;
  }
  return undefined;
}

export function integerField(value: unknown, ...names: string[]): number | undefined {
  for (const name of names) {
    const found = field(value, name);
    if (typeof found === 'number' && Number.isSafeInteger(found)) return found;
  }
  return undefined;
}

export function listField(value: unknown, name: string): unknown[] {
  const found = field(value, name);
  return Array.isArray(found) ? found : [];
}

export function textsField(value: unknown, name: string): string[] {
  const found = field(value, name);
  const list: unknown[] = Array.isArray(found) ? found : [found];
  return list.filter((item): item is string => typeof item === 'string' && item !== '');
}
