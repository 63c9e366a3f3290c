/** The agent of a factory that gets what is dispatched to it. */
export const FOREMAN = 'foreman';
/** What works where no other harness is asked for. */
export const BUILT_IN_HARNESS = 'oz';
