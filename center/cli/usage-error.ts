/** The error for bad usage or configuration. Nothing was started or changed, and the command ends with exit code 2. */
export class UsageError extends Error {}
