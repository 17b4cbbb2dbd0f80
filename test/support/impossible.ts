/** In the title of what does not run since this machine can't do it, whatever is installed on it. */
export const impossible = 'not possible on this machine';
