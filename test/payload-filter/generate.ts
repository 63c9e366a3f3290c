import { Chance } from '#testing';

type Scalar = string | number | boolean | null;

const KEYS = [
  'a',
  'b',
  'c',
  'd',
  'in',
  'not_in',
  'exists',
  '__proto__',
  'constructor',
  'toString',
  'length',
  '',
  '0',
] as const;
const SCALARS = [
  ...['x', 'X', 'y', 'xy', '', '1', 'null', 'é', 'e\u0301'],
  ...[0, -0, 1, 1.5, -1, 2 ** 53, 2 ** 53 + 2, 0.1 + 0.2, 0.3, 1e300],
  ...[true, false, null],
] as unknown as readonly [Scalar, ...Scalar[]];

/** As JSON.parse does: `__proto__` is a key like any other. */
const put = (object: object, key: string, value: unknown): object =>
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });

export function anyPayload(chance: Chance): unknown {
  if (chance.is(0.8)) return anyObject(chance, 0);
  return chance.is(0.8) ? anyArray(chance, 0) : chance.of(SCALARS);
}

function anyValue(chance: Chance, depth: number): unknown {
  const kind = chance.next();
  if (depth >= 4 || kind < 0.4) return chance.of(SCALARS);
  return kind < 0.7 ? anyObject(chance, depth + 1) : anyArray(chance, depth + 1);
}

function anyObject(chance: Chance, depth: number): object {
  const object = {};
  for (let left = chance.below(5); left > 0; left -= 1) put(object, chance.of(KEYS), anyValue(chance, depth));
  return object;
}

function anyArray(chance: Chance, depth: number): unknown[] {
  const kind = chance.next();
  return Array.from({ length: chance.below(4) }, () => {
    if (kind < 0.35) return chance.of(SCALARS);
    return kind < 0.7 ? anyObject(chance, depth + 1) : anyValue(chance, depth);
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A filter that often matches this payload: made from what is in it, with a mistake here and there. */
export function filterFor(chance: Chance, payload: unknown): unknown {
  return chance.is(0.03) ? {} : patternFor(chance, payload, 0);
}

function patternFor(chance: Chance, value: unknown, depth: number): object {
  const pattern = {};
  const model = modelOf(chance, value);
  const present = Object.keys(model);
  const wanted = 1 + chance.below(4);
  for (let left = wanted; left > 0; left -= 1) {
    const isThere = present.length > 0 && chance.is(0.8);
    const key = isThere ? (present[chance.below(present.length)] ?? '') : chance.of(KEYS);
    put(pattern, key, ruleFor(chance, Object.hasOwn(model, key) ? [model[key]] : [], depth));
  }
  return pattern;
}

/** The object that a pattern is made from; of an array, any. */
function modelOf(chance: Chance, value: unknown): Record<string, unknown> {
  const objects = (Array.isArray(value) ? value : [value]).filter(isObject);
  return objects[chance.below(objects.length)] ?? {};
}

/** `found`: the value that is there, or nothing. */
function ruleFor(chance: Chance, found: readonly unknown[], depth: number): unknown {
  if (chance.is(0.22)) return anyRule(chance, depth);
  if (found.length === 0) return chance.is(0.5) ? { exists: false } : { not_in: setOf(chance, []) };
  const [value] = found;
  const elements: readonly unknown[] = Array.isArray(value) ? value : [value];
  const objects = elements.filter(isObject);
  const scalars = elements.filter((element): element is Scalar => typeof element !== 'object' || element === null);
  const kind = chance.next();
  if (objects.length > 0 && kind < 0.7 && depth < 5) return chance.is(0.1) ? {} : patternFor(chance, value, depth + 1);
  if (scalars.length > 0 && kind < 0.7) {
    const allowed = setOf(chance, [scalars[chance.below(scalars.length)] ?? null]);
    if (chance.is(0.6)) return allowed;
    const others = setOf(chance, []).filter((other) => !scalars.includes(other) && !allowed.includes(other));
    return { in: allowed, ...(others.length > 0 && { not_in: others }), ...(chance.is(0.3) && { exists: true }) };
  }
  return kind < 0.85 ? { exists: true } : { not_in: setOf(chance, []) };
}

/** Whatever comes, valid or not. */
function anyRule(chance: Chance, depth: number): unknown {
  const kind = chance.next();
  if (kind < 0.35) return setOf(chance, []);
  if (kind < 0.5) return { exists: chance.is(0.5) };
  if (kind < 0.65) return { not_in: setOf(chance, []) };
  return kind < 0.75 || depth > 4 ? {} : patternFor(chance, anyObject(chance, depth), depth + 1);
}

function setOf(chance: Chance, values: readonly Scalar[]): Scalar[] {
  const set = [...values];
  for (let left = chance.below(3) + (set.length === 0 ? 1 : 0); left > 0; left -= 1) {
    set.splice(chance.below(set.length + 1), 0, chance.of(SCALARS));
  }
  return set;
}
