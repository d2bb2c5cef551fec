/** A description without the characters that RFC 6749, 5.2 does not allow in one. */
export const allowedText = (description: string): string => description.replaceAll('"', "'").replaceAll('\\', '/');
