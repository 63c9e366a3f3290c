/** A part of a terminal's output in one style. `style`: names of classes, empty for plain text. */
export interface AnsiSpan {
  readonly text: string;
  readonly style: string;
}

/** Each span becomes an element: output that changes its colours more often continues without them. */
export const MAX_SPANS = 1000;

/**
 * Escape sequences: CSI, OSC, the other strings (DCS, SOS, PM, APC), and the short ones; at the end also unfinished ones.
 * No part of it can match the beginning of the next part, so that the time is linear.
 */
const ESCAPE =
  /\u001b\[([0-?]*)([ -/]*)([@-~]?)|\u009b([0-?]*)([ -/]*)([@-~]?)|\u001b\][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[PX^_][^\u001b\u009c]*(?:\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g;
/** What a terminal would not print. Line feeds and tabs stay. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

interface Style {
  foreground: number | null;
  background: number | null;
  bold: boolean;
  italic: boolean;
  underline: boolean;
  struck: boolean;
  inverse: boolean;
}

const plain = (): Style => ({
  foreground: null,
  background: null,
  bold: false,
  italic: false,
  underline: false,
  struck: false,
  inverse: false,
});

/** The text of a terminal's output with its colours. All other escape sequences are removed. */
export function parseAnsi(output: string): readonly AnsiSpan[] {
  const spans: { text: string; style: string }[] = [];
  let style = plain();
  let position = 0;
  const add = (raw: string): void => {
    const text = raw.replace(CONTROLS, '');
    if (text === '') return;
    const last = spans.at(-1);
    const classes = spans.length >= MAX_SPANS ? (last?.style ?? '') : classesOf(style);
    if (last && last.style === classes) last.text += text;
    else spans.push({ text, style: spans.length === MAX_SPANS - 1 ? '' : classes });
  };
  const source = overwritten(output);
  for (const match of source.matchAll(ESCAPE)) {
    add(source.slice(position, match.index));
    position = match.index + match[0].length;
    const [, parameters = match[4], between = match[5], final = match[6]] = match;
    if (spans.length < MAX_SPANS && final === 'm' && between === '' && parameters !== undefined)
      style = changed(style, parameters);
  }
  add(source.slice(position));
  return spans;
}

/** Without colours, for searching. */
export const plainText = (output: string): string => output.replace(ESCAPE, '').replace(CONTROLS, '');

/** A carriage return begins the line again: of a progress bar only the last state is shown. */
function overwritten(output: string): string {
  const text = output.replaceAll('\r\n', '\n');
  if (!text.includes('\r')) return text;
  return text
    .split('\n')
    .map((line) => {
      // A regular expression for the end of the line would be tried at each carriage return.
      let end = line.length;
      while (line[end - 1] === '\r') end -= 1;
      return line.slice(line.lastIndexOf('\r', end - 1) + 1, end);
    })
    .join('\n');
}

/** More parameters than this have no meaning. */
const MAX_PARAMETERS = 64;

function changed(style: Style, parameters: string): Style {
  if (/[<=>?]/.test(parameters)) return style;
  const codes = parameters.split(/[;:]/, MAX_PARAMETERS).map((code) => Number(code === '' ? 0 : code));
  let next = { ...style };
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 38 || code === 48) {
      const colour =
        codes[index + 1] === 5 ? indexed(codes[index + 2] ?? 0) : nearest(codes.slice(index + 2, index + 5));
      index += codes[index + 1] === 5 ? 2 : 4;
      if (code === 38) next.foreground = colour;
      else next.background = colour;
    } else next = withCode(next, code);
  }
  return next;
}

function withCode(style: Style, code: number): Style {
  if (code >= 30 && code <= 37) return { ...style, foreground: code - 30 };
  if (code >= 90 && code <= 97) return { ...style, foreground: code - 90 + 8 };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 100 + 8 };
  switch (code) {
    case 0:
      return plain();
    case 1:
      return { ...style, bold: true };
    case 3:
      return { ...style, italic: true };
    case 4:
      return { ...style, underline: true };
    case 7:
      return { ...style, inverse: true };
    case 9:
      return { ...style, struck: true };
    case 22:
      return { ...style, bold: false };
    case 23:
      return { ...style, italic: false };
    case 24:
      return { ...style, underline: false };
    case 27:
      return { ...style, inverse: false };
    case 29:
      return { ...style, struck: false };
    case 39:
      return { ...style, foreground: null };
    case 49:
      return { ...style, background: null };
    // Text that a program dims (2) or hides (8) stays readable for those who review it.
    default:
      return style;
  }
}

/** Of 256 colours: 16 named ones, a cube, and greys. */
function indexed(index: number): number {
  if (index < 16) return Math.max(0, index);
  if (index >= 232) return nearest([(index - 232) * 10 + 8, (index - 232) * 10 + 8, (index - 232) * 10 + 8]);
  const cube = index - 16;
  const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
  return nearest([level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)]);
}

/** The named colour that is most like it: the theme has colours that can be read, in light and dark. */
function nearest([red = 0, green = 0, blue = 0]: readonly number[]): number {
  const most = Math.max(red, green, blue);
  const isOn = (value: number): boolean => most > 0 && value >= most * 0.6;
  const bits = (isOn(red) ? 1 : 0) + (isOn(green) ? 2 : 0) + (isOn(blue) ? 4 : 0);
  if (most < 64) return 0;
  if (bits === 7) return most > 200 ? 15 : most > 140 ? 7 : 8;
  return most > 200 ? bits + 8 : bits;
}

/** Of light and normal colours the theme shows the same. A background has the text colour of the theme on it. */
function classesOf({ foreground, background, bold, italic, underline, struck, inverse }: Style): string {
  const back = inverse ? (foreground ?? 7) : background;
  return [
    ...(back !== null ? [`ansi-back-${back % 8}`] : foreground === null ? [] : [`ansi-${foreground % 8}`]),
    ...(bold ? ['ansi-bold'] : []),
    ...(italic ? ['ansi-italic'] : []),
    ...(underline ? ['ansi-underline'] : []),
    ...(struck ? ['ansi-struck'] : []),
  ].join(' ');
}
