const MAX_BYTES = 255;
export const COMMIT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Why a text cannot name a branch, a tag or a commit, completing "`ref` …"; null when it can. The rules are git's own. */
export function refFault(ref: string): string | null {
  if (ref === '') return 'must not be empty';
  if (Buffer.byteLength(ref) > MAX_BYTES) return `must not exceed ${MAX_BYTES} bytes`;
  if (ref.startsWith('-')) return 'must not begin with a hyphen';

  if (/[\x00-\x20\x7f~^:?*[\\]/.test(ref))
    return 'must not contain spaces, control characters or any of ~ ^ : ? * [ \\';
  if (ref === '@' || ref.includes('@{') || ref.includes('..')) return 'must not be @ or contain .. or @{';
  const parts = ref.split('/');
  if (parts.some((part) => part === '' || part.startsWith('.') || part.endsWith('.lock')) || ref.endsWith('.'))
    return 'must be names joined by single slashes, none of which begins with a dot or ends with .lock';
  return null;
}
