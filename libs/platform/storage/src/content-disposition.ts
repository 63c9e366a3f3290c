const encodeExtended = (text: string): string =>
  encodeURIComponent(text).replace(/['()*!]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * `Content-Disposition` of a download (RFC 6266): the name in ASCII for old clients, and whole in `filename*`.
 * Directory parts and control characters are taken out: a name never says where to store.
 */
export function attachmentDisposition(fileName: string): string {
  const name =
    fileName
      .toWellFormed()
      .replace(/^.*[/\\]/s, '')
      .replace(/[\u0000-\u001f\u007f-\u009f]/g, '')
      .slice(0, 200)
      .toWellFormed() || 'download';
  const ascii = name.replace(/[^ -~]/g, '_').replace(/["\\%]/g, '_');
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encodeExtended(name)}`;
}
