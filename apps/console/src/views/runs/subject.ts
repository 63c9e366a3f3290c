const MAX_LENGTH = 200;
const MARK = /\[payload value (\d+)\]/g;

/**
 * What a run is about, in one line, for lists in which titles repeat: the first line of its prompt, with the values of the event
 * that its automation has written below the prompt. Empty: the title says it.
 */
export function subjectOf({ title, prompt = '' }: { readonly title: string; readonly prompt?: string }): string {
  const lines = prompt.split('\n').map((line) => line.trim());
  const first = lines.find((line) => line !== '' && !line.startsWith('```')) ?? '';
  const text = first.replace(MARK, (mark) => {
    const line = lines.find((other) => other.startsWith(`${mark} `)) ?? '';
    return valueOf(line.slice(line.indexOf(': ') + 2)) ?? mark;
  });
  const subject = text.slice(0, MAX_LENGTH);
  return bare(subject) === bare(title) ? '' : subject;
}

const bare = (text: string): string => text.toLowerCase().replace(/[\s.:!?]+$/, '');

/** The list has only the beginning of a prompt, so that a value may be missing or cut. */
function valueOf(json: string): string | null {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' ? value : json;
  } catch {
    return null;
  }
}
