import { type Condition, isObject, isScalar, type JsonObject, type Pattern, type ValueCondition } from './filter.js';

/**
 * Never asks for more keys than the object has, and one: an array can have 100,000 objects, and each of them be without
 * all 64 keys of the pattern. So required keys end it where they are missing, and the other ones are not asked for.
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

/** Of a value that is there. */
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

/** Whether the value is in the set; of an array, whether one of its elements is. Arrays in arrays are not looked into. */
export function holdsAny(value: unknown, set: ReadonlySet<unknown>): boolean {
  return Array.isArray(value) ? value.some((element) => isScalar(element) && set.has(element)) : set.has(value);
}
