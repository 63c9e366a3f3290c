/** Limits an LRU cache to a number of entries. Its option `max` would allocate the memory of all of them when it is created. */
export const maxEntries = (count: number): { readonly maxSize: number; readonly sizeCalculation: () => number } => ({
  maxSize: count,
  sizeCalculation: () => 1,
});
