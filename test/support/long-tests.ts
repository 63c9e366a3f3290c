/** Whether tests have the sizes and the variants of `npm run test:long`. */
export const isLong = process.env.HEADRACE_TEST_LONG === '1';
