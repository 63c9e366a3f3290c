import {
  type Condition,
  isObject,
  isScalar,
  type JsonObject,
  type Pattern,
  type PayloadFilter,
  type ValueCondition,
} from './filter.js';
import { type Path, preview, previewList, previewPath } from './preview.js';

export interface FilterResult {
  readonly matched: boolean;
  /** One sentence, at most 500 characters: without a match, the clause and the value that decided the result. */
  readonly reason: string;
}

/**
 * Whether the filter matches a payload, as parsed JSON. Never throws. The time is proportional to the size of the payload for
 * any shape of payload and filter: each value is compared with at most one clause.
 */
export function evaluatePayloadFilter({ root, leaves }: PayloadFilter, payload: unknown): FilterResult {
  if (root.clauses.length === 0) return { matched: true, reason: 'There is no filter.' };
  const fault = faultOf(root, payload);
  if (fault !== undefined) return { matched: false, reason: fault };
  return { matched: true, reason: leaves === 1 ? 'The clause matches.' : `All ${leaves} clauses match.` };
}

interface Fault {
  /** Without the final full stop. */
  readonly sentence: string;
  /** Describes the outermost array with several objects on the path, none of which matches. */
  readonly group?: string;
}

/**
 * Why a value does not match, as a sentence; undefined when it does. The recursion is as deep as the pattern, not as the
 * payload. In an array only the first object is explained and the others are only matched, so that each is visited once.
 */
export function faultOf(pattern: Pattern, payload: unknown): string | undefined {
  const fault = objectFault(pattern, payload, []);
  if (fault === undefined) return undefined;
  const { sentence, group } = fault;
  return group === undefined ? `${capitalised(sentence)}.` : `${group}: in the first, ${sentence}.`;
}

function objectFault(pattern: Pattern, value: unknown, path: Path): Fault | undefined {
  if (isObject(value)) return clauseFault(pattern, value, path);
  if (Array.isArray(value)) return elementsFault(pattern, value, path);
  return { sentence: `${previewPath(path)} is ${preview(value)}, and has to be an object` };
}

function clauseFault(pattern: Pattern, object: JsonObject, path: Path): Fault | undefined {
  for (const { key, condition } of pattern.clauses) {
    const at = [...path, key];
    const fault = Object.hasOwn(object, key) ? valueFault(condition, object[key], at) : absenceFault(condition, at);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function elementsFault(pattern: Pattern, elements: readonly unknown[], path: Path): Fault | undefined {
  let first: Fault | undefined;
  let objects = 0;
  for (let index = 0; index < elements.length; index += 1) {
    const element = elements[index];
    if (!isObject(element)) continue;
    objects += 1;
    if (first === undefined) {
      first = clauseFault(pattern, element, [...path, index]);
      if (first === undefined) return undefined;
    } else if (objectMatches(pattern, element)) return undefined;
  }
  if (first === undefined)
    return { sentence: `${previewPath(path)} is ${preview(elements)}, and has to hold an object` };
  return objects === 1 ? first : { ...first, group: `None of the ${objects} objects in ${previewPath(path)} matches` };
}

/** For a value that is present. */
function valueFault(condition: Condition, value: unknown, path: Path): Fault | undefined {
  if (condition.kind === 'object') return objectFault(condition.pattern, value, path);
  const { in: allowed, notIn, exists } = condition;
  const said = (): string => `${previewPath(path)} is ${preview(value)}`;
  if (exists === false) return { sentence: `${said()}, and must not be there` };
  if (allowed !== null && !holdsAny(value, allowed)) {
    const verb = Array.isArray(value) ? 'holds' : 'is';
    return { sentence: `${said()}, which ${verb} ${noneOf(allowed, verb)}` };
  }
  if (notIn === null || !holdsAny(value, notIn)) return undefined;
  if (!Array.isArray(value)) return { sentence: `${said()}, which \`not_in\` rules out` };
  const index = value.findIndex((element) => holdsAny([element], notIn));
  return { sentence: `${previewPath([...path, index])} is ${preview(value[index])}, which \`not_in\` rules out` };
}

function absenceFault(condition: Condition, path: Path): Fault | undefined {
  if (!condition.isRequired) return undefined;
  const wanted = condition.kind === 'object' ? 'be an object' : wantedValue(condition);
  return { sentence: `${previewPath(path)} is missing, and has to ${wanted}` };
}

function wantedValue({ in: allowed }: ValueCondition): string {
  if (allowed === null) return 'be there';
  return allowed.size === 1 ? `be ${previewList(allowed)}` : `be one of ${previewList(allowed)}`;
}

function noneOf(allowed: ReadonlySet<unknown>, verb: 'is' | 'holds'): string {
  if (verb === 'holds') return allowed.size === 1 ? `no ${previewList(allowed)}` : `none of ${previewList(allowed)}`;
  return allowed.size === 1 ? `not ${previewList(allowed)}` : `not one of ${previewList(allowed)}`;
}

const capitalised = (sentence: string): string => `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;

/**
 * Looks up at most one key more than the object has: an array can have 100,000 objects without any of the 64 keys of the
 * pattern. So a missing required key ends the comparison, and optional keys are not looked up.
 */
export function objectMatches({ required, optional }: Pattern, object: JsonObject): boolean {
  for (const { key, condition } of required) {
    if (!Object.hasOwn(object, key) || !conditionHolds(condition, object[key])) return false;
  }
  if (optional.size === 0) return true;
  for (const key of Object.keys(object)) {
    const condition = optional.get(key);
    if (condition !== undefined && !conditionHolds(condition, object[key])) return false;
  }
  return true;
}

/** For a value that is present. */
function conditionHolds(condition: Condition, value: unknown): boolean {
  if (condition.kind === 'value') return valueHolds(condition, value);
  const { pattern } = condition;
  if (isObject(value)) return objectMatches(pattern, value);
  return Array.isArray(value) && value.some((element) => isObject(element) && objectMatches(pattern, element));
}

function valueHolds(condition: ValueCondition, value: unknown): boolean {
  if (condition.exists === false) return false;
  if (condition.in !== null && !holdsAny(value, condition.in)) return false;
  return condition.notIn === null || !holdsAny(value, condition.notIn);
}

/** Whether the value is in the set, or an element of an array is. Nested arrays are not searched. */
export function holdsAny(value: unknown, set: ReadonlySet<unknown>): boolean {
  return Array.isArray(value) ? value.some((element) => isScalar(element) && set.has(element)) : set.has(value);
}
