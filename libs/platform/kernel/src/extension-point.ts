const points = new Set<{ readonly prototype: object }>();

/** Marks an abstract class that plugins may extend: a provider with `@Extension()` that extends it is registered. */
export const ExtensionPoint = (): ((target: { readonly prototype: object }) => void) => (target) => {
  points.add(target);
};

export const extendsExtensionPoint = (target: { readonly prototype: unknown }): boolean =>
  [...points].some(({ prototype }) => Object.prototype.isPrototypeOf.call(prototype, target.prototype as object));
