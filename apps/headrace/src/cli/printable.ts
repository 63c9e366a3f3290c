const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Text of somebody else's on one line of a terminal: nothing in it moves the cursor. */
export const printable = (text: string): string => text.replaceAll(UNPRINTABLE, '\uFFFD');
