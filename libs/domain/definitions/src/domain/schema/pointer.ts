import { printable } from '../diagnostics.js';

/** A place as people write it: `triggers[0].filter`. */
export function spoken(path: readonly string[]): string {
  if (path.length === 0) return 'This';
  const steps = path.map((segment, index) => {
    if (/^\d+$/.test(segment) && index > 0) return `[${segment}]`;
    return `${index === 0 ? '' : '.'}${printable(segment)}`;
  });
  return printable(steps.join(''), 200);
}
