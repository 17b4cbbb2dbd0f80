/** Part of the title of a test that this machine can't run, whatever is installed on it. */
export const impossible = 'not possible on this machine';
