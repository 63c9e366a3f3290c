import { useSignal } from '@preact/signals';
import { Action } from './basics';

async function copy(text: string): Promise<void> {
  // Browsers offer it on pages of this machine and on https pages only.
  if (!('clipboard' in navigator)) throw new Error('Copying needs https. Select the text and copy it.');
  await navigator.clipboard.writeText(text);
}

export function Copy({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const isCopied = useSignal(false);
  return (
    <Action
      run={async () => {
        await copy(text);
        isCopied.value = true;
      }}
    >
      {isCopied.value ? 'Copied' : label}
    </Action>
  );
}

/** A value that the API returns only once. */
export const SecretOnce = ({ value, children }: { readonly value: string; readonly children?: string }) => (
  <div class="card secret" role="status">
    <span>{children ?? 'Copy the secret now. It is not shown again.'}</span>
    <code>{value}</code>
    <Copy text={value} label="Copy secret" />
  </div>
);
