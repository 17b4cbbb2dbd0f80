/** Bad usage or configuration: nothing was started or changed. Ends the command with exit code 2. */
export class UsageError extends Error {}
