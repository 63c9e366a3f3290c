const MAX_SHOWN = 5;

/** The known names that somebody may have meant: best first, at most 5. */
export function nearMisses(given: string, known: readonly string[]): string[] {
  const wanted = given.toLowerCase().slice(0, 64);
  return (
    known
      .map((name) => ({ name, distance: distanceTo(wanted, name) }))
      // A name of one letter would be near to every other letter.
      .filter(({ name, distance }) => distance === 0 || name.length > 1)
      .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
      .sort((one, other) => one.distance - other.distance || (one.name < other.name ? -1 : 1))
      .slice(0, MAX_SHOWN)
      .map(({ name }) => name)
  );
}

/** Names of which one begins with the other's word are as near as one slip of the finger: `github` and `github_app`. */
function distanceTo(wanted: string, name: string): number {
  const plain = (text: string): string => text.replaceAll(/[^a-z0-9]/g, '');
  const [one, other] = [plain(wanted), plain(name.toLowerCase())];
  if (one === other) return 0;
  const isBeginning = one.length >= 3 && other.length >= 3 && (one.startsWith(other) || other.startsWith(one));
  return isBeginning ? 1 : editDistance(one, other);
}

export const closestName = (given: string, known: readonly string[]): string | undefined => nearMisses(given, known)[0];

/** Edits between two texts; two adjacent characters that changed places count as one. */
export function editDistance(one: string, other: string): number {
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let left = 1; left <= one.length; left += 1) {
    const next = [left];
    for (let right = 1; right <= other.length; right += 1) {
      const replaced = (row[right - 1] ?? 0) + (one[left - 1] === other[right - 1] ? 0 : 1);
      const areSwapped =
        left > 1 && right > 1 && one[left - 1] === other[right - 2] && one[left - 2] === other[right - 1];
      const swapped = areSwapped ? (before[right - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[right] ?? 0) + 1, (next[right - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[other.length] ?? 0;
}
