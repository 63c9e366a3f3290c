import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { parseAnsi } from './ansi';

/** More is shown when somebody asks for it. */
const MAX_SHOWN = 20_000;

/** The output of a program, with its colours. */
export function Output({ text }: { readonly text: string }) {
  const isWhole = useSignal(false);
  const shown = isWhole.value ? text : text.slice(0, MAX_SHOWN);
  const spans = useMemo(() => parseAnsi(shown), [shown]);
  return (
    <>
      <pre tabIndex={0}>
        {spans.map(({ text: part, style }) => (style === '' ? part : <span class={style}>{part}</span>))}
      </pre>
      {shown.length < text.length && (
        <button type="button" onClick={() => (isWhole.value = true)}>
          Show {(text.length - shown.length).toLocaleString()} characters more
        </button>
      )}
    </>
  );
}
