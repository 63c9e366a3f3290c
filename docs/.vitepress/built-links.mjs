import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

/** Throws if a link of the built site leads to no file of it, or to no element of its page. VitePress does not check the latter. */
export function assertLinks(directory, base) {
  const files = readdirSync(directory, { recursive: true }).map((file) => file.replaceAll('\\', '/'));
  const known = new Set(files);
  const pages = new Map(
    files.filter((file) => file.endsWith('.html')).map((file) => [file, readPage(`${directory}/${file}`)]),
  );
  const broken = [...pages].flatMap(([file, { links }]) =>
    [...links].filter((link) => !isFound(link, file, { base, known, pages })).map((link) => `${file}: ${link}`),
  );
  if (broken.length > 0) throw new Error(`Links to nothing:\n${broken.join('\n')}`);
}

function readPage(file) {
  const html = readFileSync(file, 'utf8');
  const values = (pattern) => new Set([...html.matchAll(pattern)].map(([, value]) => unescape(value)));
  return { links: values(/<a [^>]*?href="([^"]*)"/g), ids: values(/ id="([^"]*)"/g) };
}

const unescape = (text) => text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

function isFound(link, file, { base, known, pages }) {
  if (/^[a-z]+:/.test(link)) return true;
  const [path, anchor = ''] = link.split('#');
  const target = path === '' ? file : fileOf(path, file, base);
  if (target === null || !known.has(target)) return false;
  return anchor === '' || pages.get(target)?.ids.has(decodeURIComponent(anchor)) === true;
}

/** The file of the site that a server returns for a path; null outside of the site. */
function fileOf(path, from, base) {
  if (path.startsWith('/') && !path.startsWith(base)) return null;
  const file = path.startsWith('/') ? path.slice(base.length) : posix.join(posix.dirname(from), path);
  return decodeURIComponent(file === '' || file === '.' || file.endsWith('/') ? posix.join(file, 'index.html') : file);
}
