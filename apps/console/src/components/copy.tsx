import { useSignal } from '@preact/signals';
import { Action } from './basics';

export async function copy(text: string): Promise<void> {
  if (isSecureContext) {
    await navigator.clipboard.writeText(text).catch((error: unknown) => {
      throw new Error('The browser does not permit it. Select the text and copy it.', { cause: error });
    });
    return;
  }
  // Browsers offer the clipboard on pages of this machine and on https pages only; elsewhere only this command writes to it.
  let isWritten = false;
  const write = (event: ClipboardEvent): void => {
    event.preventDefault();
    event.clipboardData?.setData('text/plain', text);
    isWritten = event.clipboardData !== null;
  };
  document.addEventListener('copy', write);
  try {
    document.execCommand('copy');
  } finally {
    document.removeEventListener('copy', write);
  }
  if (!isWritten) throw new Error('This browser copies on https pages only. Select the text and copy it.');
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

interface SecretOnceProps {
  readonly value: string;
  /** What it is, such as `token`. */
  readonly noun?: string;
}

/** A value that the API returns only once. */
export const SecretOnce = ({ value, noun = 'secret' }: SecretOnceProps) => (
  <div class="card secret" role="status">
    <span>Copy the {noun} now. It is not shown again.</span>
    <code>{value}</code>
    <Copy key={value} text={value} label={`Copy ${noun}`} />
  </div>
);
