/** Bad usage or configuration: nothing was started or changed. The command ends with exit code 2. */
export class UsageError extends Error {}
