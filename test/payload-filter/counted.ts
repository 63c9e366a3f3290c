/** The same value, of which is counted how often something is looked up in it: a key, an element, or the list of keys. */
export function counted(value: unknown, count: (lookups: number) => void): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get: (target, key, receiver) => {
      count(1);
      return counted(Reflect.get(target, key, receiver), count);
    },
    has: (target, key) => {
      count(1);
      return Reflect.has(target, key);
    },
    ownKeys: (target) => {
      const keys = Reflect.ownKeys(target);
      count(keys.length);
      return keys;
    },
    getOwnPropertyDescriptor: (target, key) => {
      count(1);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
}
