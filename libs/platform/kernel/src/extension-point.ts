interface Class {
  readonly prototype: object;
}

/** The processes of an installation that need an extension, by the class of its extension point. */
const points = new Map<Class, readonly string[]>();

/**
 * Marks an abstract class that plugins may extend: a provider with `@Extension()` that extends it is registered. `processes`: those
 * that must all load an extension.
 */
export const ExtensionPoint =
  (processes: readonly string[] = []): ((target: Class) => void) =>
  (target) => {
    points.set(target, processes);
  };

const pointsOf = (target: Class): (readonly string[])[] =>
  [...points].flatMap(([{ prototype }, processes]) =>
    Object.prototype.isPrototypeOf.call(prototype, target.prototype) ? [processes] : [],
  );

export const extendsExtensionPoint = (target: Class): boolean => pointsOf(target).length > 0;

/** Of an extension; none for every other class. */
export const requiredProcesses = (target: Class): readonly string[] => pointsOf(target).flat();
