interface Place {
  readonly path: string;
  readonly item?: unknown;
}

let places: readonly Place[] = [];

/** Called by the list of sections, which views cannot import because it imports them. */
export const registerPlaces = (sections: readonly Place[]): void => {
  places = sections;
};

/** The path of a section, such as `schedules`; null: this console has no such section. */
export const sectionPath = (section: string): string | null =>
  places.find(({ path }) => path === section)?.path ?? null;

/** The path of a resource, or of the list in which it is; null: this console has neither. */
export function placeOf(section: string, id: string, parameters = ''): string | null {
  const found = places.find(({ path }) => path === section);
  if (found === undefined) return null;
  return found.item === undefined ? found.path : `${found.path}/${id}${parameters}`;
}
